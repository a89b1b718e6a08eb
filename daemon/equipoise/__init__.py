"""Equipoise: fair teams for community game servers."""

__version__ = "0.1.0"
