"""What benches say of memory."""

from __future__ import annotations

from bench.measuring import run_module

LARGE = 300
"""MB, far above what a small process needs."""


def test_the_peak_of_a_process_is_its_own_and_not_that_of_the_one_that_started_it():
    held = bytearray(LARGE * 1024 * 1024)
    held[::4096] = b"1" * len(held[::4096])
    _, peak = run_module("timeit", ["-n", "1", "-r", "1", "pass"])
    assert 1 < peak < LARGE
    del held
    _, peak = run_module("timeit", ["-n", "1", "-r", "1", f"held = b'1' * {LARGE * 1024 * 1024}"])
    assert LARGE < peak < 2 * LARGE
