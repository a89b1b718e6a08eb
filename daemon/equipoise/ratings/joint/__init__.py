"""One Gaussian over the skills of all active players, head count, sides and maps: docs/ratings/joint.md."""
