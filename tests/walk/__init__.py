"""The documents, executed: an empty Debian machine becomes a running installation by the lines that they print."""
