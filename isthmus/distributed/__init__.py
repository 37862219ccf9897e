"""Many runs: jobs in, records out, in this process, on this machine or on a cluster.

Start with `job.py` (`Job` and `Record`); `runner.py` has what runs jobs, `store.py` the file that keeps records.
"""
