"""Studies: a fit as a text file, from robot and logs to results in a folder."""
