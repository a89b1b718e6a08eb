"""What a script says of a map decides its mode."""

from __future__ import annotations

from typing import get_args

import pytest

from equipoise.core.model import Mode, Side
from equipoise.wire.batches import Facts, ModeName, mode_of
from equipoise.wire.scalars import GAMES, SIDES


@pytest.mark.parametrize(
    ("game", "facts", "mode"),
    [
        ("tf2", Facts(), Mode.OTHER),
        ("tf2", Facts(game_type=1), Mode.CTF),
        ("tf2", Facts(game_type=2), Mode.SYMMETRIC_CP),
        ("tf2", Facts(game_type=2, attack_defend=True), Mode.ATTACK_DEFEND),
        ("tf2", Facts(game_type=2, koth=True), Mode.KOTH),
        ("tf2", Facts(game_type=2, koth=True, attack_defend=True), Mode.KOTH),
        ("tf2", Facts(game_type=3), Mode.PAYLOAD),
        ("tf2", Facts(game_type=3, multiple_trains=True), Mode.PAYLOAD_RACE),
        ("tf2", Facts(game_type=4), Mode.ARENA),
        *(("tf2", Facts(game_type=other), Mode.OTHER) for other in (5, 6, 7, 8, 99)),
        ("tf2", Facts(game_type=4, mode="koth"), Mode.ARENA),
        ("ns2", Facts(), Mode.NS2),
        ("ns2", Facts(mode="koth"), Mode.NS2),
        ("other", Facts(), Mode.OTHER),
        *(("other", Facts(mode=mode), Mode(mode)) for mode in get_args(ModeName)),
    ],
)
def test_a_tf2_map_has_one_mode_by_its_facts_ns2_one_of_its_own_and_another_game_the_one_that_it_states(
    game: str, facts: Facts, mode: Mode
) -> None:
    assert mode_of(game, facts) is mode


def test_another_game_may_state_every_mode_but_that_of_ns2() -> None:
    assert {Mode(mode) for mode in get_args(ModeName)} == set(Mode) - {Mode.NS2}


def test_a_game_writes_a_side_in_the_word_it_reads() -> None:
    for game in GAMES.values():
        assert [SIDES[game.word(side)] for side in Side] == list(Side)
        assert game.word(None) == "none"
