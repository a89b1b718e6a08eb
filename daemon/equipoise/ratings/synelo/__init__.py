"""SynElo, the default of TF2 pools: Elo on sums of ratings with a K factor for each player."""
