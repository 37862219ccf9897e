"""A simulator to files."""
