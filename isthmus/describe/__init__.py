"""Text or code to description: plain Python."""
