"""Description to model and state: pytrees."""
