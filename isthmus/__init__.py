"""isthmus: a differentiable simulator of articulated rigid bodies, with networks at any named variable."""
