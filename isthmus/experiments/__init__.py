"""The papers' experiments, one page each: `isthmus reproduce NAME`."""
