"""`make chaos`: a driver that breaks the daemon on purpose and counts what is lost; it imports nothing of it."""
