"""How a simulated motion is compared with a recorded one.

Start with `windows.py` (`AbstractLoss` and the losses: which windows of a log are compared). `residuals.py` has the
differences of single signals, each on its manifold; `penalties.py` the Huber function and quadratic priors.
"""
