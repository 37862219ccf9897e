"""What a notebook shows of objects: `html.py`, which `_repr_html_` of `isthmus.shown.Shown` calls."""
