"""A fit as one self-contained HTML page: tables, figures and an animation.

Start with `write.py` (`export_report`, the order of the sections). `gather.py` collects measured and predicted curves;
each `…_section.py` is one part of the page, drawn with `charts.py`, `svg.py` and `scene.py`; `html.py` escapes text.
Style sheet and script are in `assets/`.
"""
