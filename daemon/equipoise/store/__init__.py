"""Persistence in one file of SQLite, for every server on a machine; there is no SQL anywhere else."""
