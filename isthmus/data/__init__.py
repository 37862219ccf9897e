"""Recorded motion of other programs -> `Motion`: CSV, NPZ, HDF5, Parquet, ROS bags, published data sets.

Start with `read.py` (`read_motion`, and its options in `options.py`). A file goes through these steps: `tables.py`
(columns of numbers), `names.py` and `match.py` (which column is which coordinate), `units.py` (to SI), `tidy.py`
(repairs that the caller chose) and `doubts.py` (warnings). `datasets.py` lists the published recordings.
"""
