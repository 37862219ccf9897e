"""Searches: from starting points to where each of them led.

`search.py` says what every search takes and gives. Local: Levenberg-Marquardt, L-BFGS, Adam, a lengthening
horizon. Global, in `rounds.py` over `islands.py`: basin hopping, population, CMA-ES.
"""
