"""A `Motion`: time, positions, velocities and signals of a rollout or of a recorded log.

Operations on motions live here too: rows, resampling, smoothing, outliers, files. `motion.py` has
the class and is the place to start; `spans.py` says which columns of `q` and `v` belong to which joint.
"""
