"""Networks inside a step: what runs when a signal is recorded, read or corrected. Knows no physics.

`signals.py` is the place to start: every quantity of a step passes through `signal(name, value)`.
`names.py` lists all signals, `recipes.py` has the networks, `laws.py` and `guarantees.py` what they
promise, `wired.py` a network in its place. How users say which network goes where: `isthmus.blueprint`.
"""
