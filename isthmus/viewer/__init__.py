"""`ist.view`: a model and its motions in the browser, with viser (extra `view`), or as one page that needs nothing.

`view.py` is the place to start; `worlds.py` makes pictures of motions and simulates them again, `drawn.py` puts a
scene into viser, `viewer.py` plays it, `panel.py` has sliders and plots, `page.py` writes the page.
"""
