"""Measurements beside their targets: `make bench`. Never part of the test suite: machines are noisy."""
