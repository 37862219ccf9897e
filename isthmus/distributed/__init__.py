"""Many runs: jobs in, records out, on this process, this machine or a cluster."""
