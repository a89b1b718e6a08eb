"""Splits for other programs, solved in a process of their own.

A question may take all the time of its budget, and all the memory that process may have: the daemon, which answers game
servers meanwhile, feels neither. `worker` is the daemon's end, `__main__` the process, `question` what they exchange.
"""
