"""The words and rules of a match. Pure: no clock, randomness, socket, file or log."""
