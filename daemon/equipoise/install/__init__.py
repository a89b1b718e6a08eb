"""Puts Equipoise onto a machine: its configuration, the plugin in a game server's folder, the systemd unit."""
