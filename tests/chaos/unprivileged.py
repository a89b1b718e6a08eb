"""Runs a command as root without root's power over other people's files: `unprivileged.py COMMAND …`.

Then a mode of 000 closes a file to it as to any other user. Another user would do too, but may not be able to read the
program: root's home directory is closed to them. This file imports nothing but the standard library.
"""

from __future__ import annotations

import ctypes
import os
import sys

DROP_FROM_BOUNDING_SET = 24
DAC_OVERRIDE, DAC_READ_SEARCH = 1, 2
"""Capabilities, by linux/capability.h: writing and reading whatever a file's mode says."""


def main() -> None:
    libc = ctypes.CDLL(None)
    for capability in (DAC_OVERRIDE, DAC_READ_SEARCH):
        libc.prctl(DROP_FROM_BOUNDING_SET, capability, 0, 0, 0)  # refused to users who do not have it anyway
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
