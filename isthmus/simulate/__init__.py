"""Time: one step, many steps, and the motion they make."""
