"""Code shared by several rating systems: records, match arrays, truncated Gaussians, kernel compilation."""
