"""Motion to parameters: which numbers are free, what the data says of them, and how they are found."""
