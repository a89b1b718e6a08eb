"""The running daemon: one host per server, one pool per rating population, and what keeps them going."""
