"""Motion against motion: which stretches of a log are simulated, and how the difference is measured."""
