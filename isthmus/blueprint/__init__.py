"""Which networks read what and correct what: written apart from the physics, checked before the first step."""
