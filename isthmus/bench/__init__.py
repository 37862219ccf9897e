"""Speed on this machine, beside other engines: `isthmus bench`. Compiling stands apart from running."""
