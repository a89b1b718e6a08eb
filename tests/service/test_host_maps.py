"""What scripts and operators see of a map that is left alone, or only rated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from equipoise.core import events as e
from equipoise.core.model import Mode
from equipoise.core.phrases import Phrase
from equipoise.core.rules import Level, Rules
from tests.hosts import SESSION, Rig

LEVELS: dict[str, Level] = {"arena_": "rate", "vsh_": "off"}


def rig_of(folder: Path) -> Rig:
    return Rig(folder, rules=replace(Rules(), maps=LEVELS))


def hello(map_name: str) -> e.Hello:
    return e.Hello(0.0, SESSION, map_name, Mode.ARENA, e.Phase.IDLE)


@pytest.mark.parametrize(
    ("map_name", "level", "reason"),
    [("vsh_dust", "off", "vsh_"), ("arena_well", "rate", "arena_"), ("koth_king", "balance", "")],
)
async def test_every_reply_names_the_level_of_the_map(tmp_path: Path, map_name: str, level: str, reason: str) -> None:
    async with rig_of(tmp_path) as rig:
        reply = await rig.post(hello(map_name))
        status = rig.host.status()
        assert (reply.level, reply.level_reason) == (status.level, status.level_reason) == (level, reason)


@pytest.mark.parametrize(
    ("map_name", "phrases"), [("vsh_dust", [Phrase.MAP_OFF]), ("arena_well", [Phrase.MAP_RATE, Phrase.STATUS])]
)
async def test_the_status_in_the_game_says_that_the_map_is_left_alone(
    tmp_path: Path, map_name: str, phrases: list[Phrase]
) -> None:
    async with rig_of(tmp_path) as rig:
        await rig.post(hello(map_name))
        answer = await rig.host.command(("status",), "token:owner")
        assert [line.phrase for line in answer.lines] == phrases
