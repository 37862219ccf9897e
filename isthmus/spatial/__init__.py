"""The algebra of rigid motion: no model, no state."""
