"""Persistence behind the Store port; there is no SQL anywhere else."""
