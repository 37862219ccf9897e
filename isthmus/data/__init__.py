"""Recorded motion: files of many kinds, columns by name, doubts said aloud."""
