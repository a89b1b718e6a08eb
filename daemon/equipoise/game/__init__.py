"""The daemon's side of the game servers' own protocols: RCON, NS2's web admin, and A2S queries."""
