"""Steps in time: from a state and a control to the next state, and rollouts of many steps.

Start with `rollout.py` (`step`, `rollout`); `forces.py` and `accelerate.py` are what happens inside one step,
`integrate.py` has the integrators, `engine.py` chooses between native code and XLA.
"""
