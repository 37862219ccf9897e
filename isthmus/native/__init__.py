"""Any traced JAX function as machine code; knows no physics."""
