"""Many independent runs: jobs in, records out, in this process or in several.

`job.py` is the place to start: a job names a function and its arguments and becomes a record. `runner.py` runs jobs in
processes (`worker.py` is one of them), `store.py` keeps records on disk, so that a run that was stopped can go on.
"""
