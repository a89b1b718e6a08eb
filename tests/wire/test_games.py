"""The facts that a TF2 script reads from a map's entities decide its mode."""

from __future__ import annotations

from typing import get_args

import pytest

from equipoise.core.model import Mode, Side
from equipoise.wire.batches import Facts, ModeName, mode_of
from equipoise.wire.scalars import GAMES, SIDES


@pytest.mark.parametrize(
    ("facts", "mode"),
    [
        (Facts(), Mode.OTHER),
        (Facts(game_type=1), Mode.CTF),
        (Facts(game_type=2), Mode.SYMMETRIC_CP),
        (Facts(game_type=2, attack_defend=True), Mode.ATTACK_DEFEND),
        (Facts(game_type=2, koth=True), Mode.KOTH),
        (Facts(game_type=2, koth=True, attack_defend=True), Mode.KOTH),
        (Facts(game_type=3), Mode.PAYLOAD),
        (Facts(game_type=3, multiple_trains=True), Mode.PAYLOAD_RACE),
        (Facts(game_type=4), Mode.ARENA),
        *((Facts(game_type=other), Mode.OTHER) for other in (5, 6, 7, 8, 99)),
    ],
)
def test_the_facts_of_a_tf2_map_are_one_mode(facts: Facts, mode: Mode) -> None:
    assert mode_of("tf2", facts) is mode


def test_ns2_is_a_mode_of_its_own() -> None:
    assert mode_of("ns2", Facts()) is Mode.NS2


def test_the_script_of_another_game_states_its_mode() -> None:
    assert mode_of("other", Facts()) is Mode.OTHER
    assert {mode_of("other", Facts(mode=mode)) for mode in get_args(ModeName)} == set(Mode) - {Mode.NS2}


def test_a_stated_mode_means_nothing_for_games_that_equipoise_knows() -> None:
    assert mode_of("tf2", Facts(game_type=4, mode="koth")) is Mode.ARENA
    assert mode_of("ns2", Facts(mode="koth")) is Mode.NS2


def test_a_game_writes_a_side_in_the_word_it_reads() -> None:
    for game in GAMES.values():
        assert [SIDES[game.word(side)] for side in Side] == list(Side)
        assert game.word(None) == "none"
