"""Seeing it: pictures of motions."""
