"""What `equipoise doctor` looks at: the machine, the configuration, the store, and what the daemon says of its servers.

Nothing here changes anything.
"""
