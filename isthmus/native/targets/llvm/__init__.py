"""The scalar program -> LLVM -> loaded machine code.

`emit.py` writes one function for any number of lanes, `wrappers.py` what calls it for one world, for many
worlds or from XLA, `module.py` puts them together, `machine_code.py` compiles and loads the text. `processor.py`
knows the instruction set, `target.py` is what the runtime sees.
"""
