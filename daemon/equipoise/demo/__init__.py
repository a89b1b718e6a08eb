"""An evening on a simulated game server that plays the real protocol against a real daemon."""
