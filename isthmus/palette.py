"""The colours of all figures; colour-blind people can tell the first six of `SERIES` apart (Okabe and Ito 2008)."""

BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#B5528C"
YELLOW, SKY, VIOLET, BROWN = "#E0A100", "#56B4E9", "#7A6FC2", "#8C7853"
SERIES = (BLUE, VERMILION, GREEN, PURPLE, YELLOW, SKY, VIOLET, BROWN)
"""Of lines and boxes, in this order."""

INK, DIM, FAINT, GRID, PAPER = "#22262b", "#5a626a", "#9aa1a9", "#e6e9ec", "#ffffff"
"""Of text, secondary text, axes and notes, grids, and the background."""
GREY = "#b5b5b5"
"""Of what is shown for comparison only."""
SHADES = ("#b7d3e9", "#7fb2d9", "#4a8dc2", "#2a6aa3", "#1b4f82", "#16324f")
"""Of one thing over time, from its first moment to its last."""
