"""A plugin and a daemon of different versions: what admins read, and what a refused plugin logs. End to end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import equipoise
from tests.daemons import RealDaemon
from tests.sourcemod.conftest import SCRIPTING
from tests.sourcemod.rig import Game
from tests.sourcemod.rig.compile import compile_plugin
from tests.sourcemod.sessions import Evening

ROOT_FLAG = 1 << 14
NewEvening = Callable[[str, str], Evening]


@pytest.fixture
def new_evening(new_game: Callable[..., Game], tmp_path: Path) -> Iterator[NewEvening]:
    """Makes an evening of a plugin that was compiled as a release, with the version of the protocol that it speaks."""
    daemon = RealDaemon(tmp_path / "daemon", forked=True)

    def make(release: str, protocol: str = "1") -> Evening:
        made = tmp_path / "made"
        made.mkdir()
        (made / "equipoise_version.inc").write_text(f'#define PLUGIN_VERSION "{release}"\n')
        for path in SCRIPTING.rglob("*.sp"):
            copy = made / path.relative_to(SCRIPTING)
            copy.parent.mkdir(exist_ok=True)
            copy.write_text(path.read_text().replace('batch.SetInt("v", 1)', f'batch.SetInt("v", {protocol})'))
        smx = compile_plugin(made / "equipoise.sp", tmp_path / "equipoise.smx", made, SCRIPTING / "include")
        daemon.start()
        evening = Evening(new_game(), daemon, smx)
        evening.game.start_map("koth_harvest_final")
        evening.game.settle()
        return evening

    yield make
    daemon.kill()


@pytest.mark.parametrize(("release", "times"), [("0.1.9", 1), (equipoise.__version__, 0)])
def test_admins_read_once_a_map_that_their_plugin_is_older_than_the_daemon(
    new_evening: NewEvening, release: str, times: int
) -> None:
    evening = new_evening(release, "1")
    ann, bob = evening.seat("Ann"), evening.seat("Bob")
    ann.flags = ROOT_FLAG
    older = f"is older than its daemon {equipoise.__version__}. On the daemon's machine: equipoise upgrade"

    def said() -> list[int]:
        return [sum(older in text for text in lines) for lines in (ann.chat, bob.chat, evening.game.sm.console)]

    evening.seat("Cid")  # a roster that says who Ann is comes with the sides
    evening.game.rcon("equipoise_poll")
    evening.live()
    evening.wait(20)
    assert said() == [times, 0, times]
    evening.game.start_map("cp_gorge")
    evening.wait(20)
    assert said() == [2 * times, 0, 2 * times]
    assert not times or "Equipoise 0.1.9 is older" in " ".join(ann.chat)


def test_a_plugin_of_a_protocol_that_the_daemon_does_not_serve_logs_which_side_to_upgrade(
    new_evening: NewEvening,
) -> None:
    evening = new_evening("9.0.0", "2")
    evening.wait(20)
    complaints = [text for _, text in evening.game.sm.log.errors if "protocol" in text]
    assert complaints[0].endswith(
        "The daemon refuses $.v: The script speaks protocol 2, this daemon 1: upgrade the daemon (equipoise upgrade)"
    )
    assert evening.daemon.ask("servers")["servers"][0]["refused_batches"]
