"""Tests mirror the packages; rigs that several of them share stand here."""

import os

# As the daemon has it: two threads that share out a product of small matrices wait for each other on a busy processor.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
