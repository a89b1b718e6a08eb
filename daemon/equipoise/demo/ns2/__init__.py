"""An evening on a simulated NS2 server."""
