"""A whole pool in closed loop: people of hidden skill on a simulated game server, under the real rules and ratings."""
