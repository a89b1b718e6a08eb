"""All ratings of a pool estimated anew from all of its rounds at once, in a process of its own."""
