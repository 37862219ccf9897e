"""Is this model's derivative right, and is its time step short enough."""
