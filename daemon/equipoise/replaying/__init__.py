"""What follows an event that is taken out of a pool's sequence, replayed in a process of its own."""
