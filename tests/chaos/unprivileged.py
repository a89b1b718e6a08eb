"""Runs a command as root without root's power over other people's files: `unprivileged.py COMMAND …`.

Then a mode of 000 closes a file to it as to any other user. Another user would do too, but may not be able to read the
program: root's home directory is closed to them. This file imports nothing but the standard library.
"""

from __future__ import annotations

import ctypes
import os
import sys

VERSION_3 = 0x20080522
SET_NO_NEW_PRIVS = 38
DAC_OVERRIDE, DAC_READ_SEARCH = 1, 2
"""Capabilities, by linux/capability.h: writing and reading whatever a file's mode says."""


def main() -> None:
    """Give the two up in every set that a process has, and then what exec would give root back.

    "Transformation of capabilities during execve()" in capabilities(7): root's new permitted set is the inheritable and
    the bounding one together, so that to shrink one of them is not enough; containers start with either. After
    no_new_privs, prctl(2), nothing is gained, and no capability is needed to say so.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable of the capabilities 0 to 31, then of 32 to 63
    _succeed(libc.capget(header, sets))
    for place in range(3):
        sets[place] &= ~(1 << DAC_OVERRIDE | 1 << DAC_READ_SEARCH)
    _succeed(libc.capset(header, sets))  # takes them out of the ambient set, too
    _succeed(libc.prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    os.execvp(sys.argv[1], sys.argv[1:])


def _succeed(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    main()
