"""Offline work on rating systems: read histories, replay, backtest, tune, compare and simulate them."""
