"""Pools that several machines share: PostgreSQL is the one ordered log of such a pool."""
