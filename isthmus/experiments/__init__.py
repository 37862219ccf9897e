"""Experiments of the papers, repeated: `isthmus reproduce NAME`.

Start with `run.py`: it lists the experiments, and has their settings and results. Each experiment is the file of its
name with a function `study(settings)`; its figures are in `…_figures.py`, larger parts in files with the same prefix.
"""
