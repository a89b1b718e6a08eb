"""Weng-Lin: Gaussian skills updated in closed form, by the models that openskill and others use."""
