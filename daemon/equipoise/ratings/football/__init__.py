"""The football world rankings: Elo with the home advantage and the weights of FIFA and eloratings.net."""
