"""A whole pool in closed loop: people of hidden skill, and the real session, solver and rating system."""
