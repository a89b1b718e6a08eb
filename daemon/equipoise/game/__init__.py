"""The daemon's side of the game servers' own protocols: RCON, and A2S queries."""
