"""Models on disk: `ist.load` of any robot file, `ist.save` of a model with its networks.

Start with `load.py`, which recognises the format, and `save.py`, which has ours (one safetensors file).
`objects.py` and `topology.py` turn networks and the static part of a model into plain data and back.
"""

SUFFIX = ".safetensors"
"""Of models that `save` writes."""
