"""Networks at named doors: knows no physics."""
