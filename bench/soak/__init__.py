"""100 simulated servers against a real daemon for hours, and the cost of a round in pools of different sizes."""
