"""What the scalar program is written as: LLVM for this processor (`llvm/`), C99 for a controller (`c/`)."""
