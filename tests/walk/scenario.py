"""The steps of the walk, in order: what the documents say, what happens meanwhile, and what must be true after it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from pathlib import Path

from tests.walk import game_server, wheels
from tests.walk.blocks import Block
from tests.walk.machine import Machine, WalkError, connected
from tests.walk.transcript import Transcript

PLAYERS = ("76561197960287930", "76561197960287935", "76561197960287939")
FOUND_SECONDS = 60
"""Until systemd has found out that the daemon stands still (20 s), ended it (10 s) and started another."""


class Walk:
    """The machines of one walk and the blocks that are left to run.

    `release` is the folder of what people download, `following` that of the release after it.
    """

    def __init__(
        self,
        base: Machine,
        place: Path,
        release: Path,
        following: Path,
        steps: dict[str, list[Block]],
        transcript: Transcript,
    ) -> None:
        self.base, self.place, self.log = base, place, transcript
        self.release, self.following = release, following
        self.steps = dict(steps)
        self.figures: list[tuple[str, object]] = []
        self.machines: list[Machine] = []

    def type(self, machine: Machine, step: str) -> str:
        """Run the blocks of a step, as they stand in the documents; all that they say."""
        said = []
        for block in self.steps.pop(step):
            self.log.block(block)
            if not block.elsewhere:
                said.append(machine.run(block.text, code=block.code, answer=block.answer))
                for text in block.says:
                    expect(text in said[-1], f"{block.place}: it does not say {text!r}:\n{said[-1]}")
        return "".join(said)

    def machine(self, name: str, of: Machine | None = None) -> Machine:
        """A copy of an installed machine, or of the empty one."""
        made = (of or self.base).copy(self.place / name)
        self.machines.append(made)
        return made

    def figure(self, name: str, value: object) -> None:
        """For the table at the end."""
        self.figures.append((name, value))


def expect(true: object, otherwise: str) -> None:
    """WalkError with this text unless it is true."""
    if not true:
        raise WalkError(otherwise)


def state(machine: Machine, name: str) -> str:
    """A property of the unit, as systemd shows it."""
    return machine.run(f"systemctl show --property={name} --value equipoise").strip()


def ready(machine: Machine) -> float:
    """Wait until the unit is active; seconds from its start to READY=1."""
    end = time.monotonic() + FOUND_SECONDS
    while state(machine, "ActiveState") != "active":
        expect(time.monotonic() < end, machine.run("systemctl status --no-pager -n 30 equipoise", code=None))
        time.sleep(0.5)
    began, active = (int(state(machine, f"{name}TimestampMonotonic")) for name in ("ExecMainStart", "ActiveEnter"))
    return (active - began) / 1_000_000


def resident(machine: Machine) -> int:
    """MB of memory that the daemon has."""
    said = machine.run(f"grep VmRSS /proc/{state(machine, 'MainPID')}/status")
    return int(re.sub(r"\D", "", said)) // 1024


def ratings(machine: Machine) -> list[float]:
    """Of some of the players who played."""
    said = (machine.run(f"equipoise player show {player} --json") for player in PLAYERS)
    return [json.loads(one)["player"]["rating"] for one in said]


def play(machine: Machine, tf: str, rounds: int) -> None:
    """Rounds of a game server whose plugin is configured by what was installed there."""
    machine.run(f"python3 /srv/walk/play.py {tf}/cfg/sourcemod/equipoise.cfg {rounds}")


def game_servers(machine: Machine, *folders: str) -> None:
    """Servers that are there before Equipoise, owned by a user of their own."""
    for folder in folders:
        game_server.make(machine.root / folder.lstrip("/"))
    machine.run("useradd --system steam && chown -R steam: " + " ".join(folders))


def first_server(walk: Walk) -> tuple[Machine, Machine, Machine, Machine]:
    """From an empty Debian to the first balanced round, and one server more; also three that have nothing set up."""
    machine = walk.machine("first")
    game_servers(machine, "/srv/arena-1/tf", "/srv/harvest/tf", "/srv/dustbowl/tf")
    for path in walk.release.iterdir():
        shutil.copy(path, machine.root / "root")
    began = walk.log.seconds
    walk.type(machine, "install")
    walk.figure("installed, MB", machine.run("du -sm /opt/pipx").split()[0])
    ours = -walk.log.seconds
    second, third, fourth = (walk.machine(name, machine) for name in ("second", "third", "fourth"))
    machine.boot()
    ours += walk.log.seconds
    walk.type(machine, "init")
    walk.figure("ready, seconds after its start", f"{ready(machine):.2f}")
    walk.type(machine, "load")
    play(machine, "/srv/arena-1/tf", 2)
    walk.figure("minutes to the first balanced round", f"{(walk.log.seconds - began - ours) / 60:.1f}")
    walk.type(machine, "further")
    play(machine, "/srv/harvest/tf", 2)
    walk.type(machine, "look")
    return machine, second, third, fourth


def every_day(walk: Walk, machine: Machine) -> None:
    """What operators do while it runs."""
    pid = state(machine, "MainPID")
    walk.type(machine, "add")
    play(machine, "/srv/dustbowl/tf", 2)
    walk.type(machine, "reload")
    machine.run("sed -i.right 's/k_max/k_mox/' /etc/equipoise/config.toml")
    machine.run("systemctl reload equipoise", code=1)
    walk.type(machine, "wrong-edit")
    play(machine, "/srv/arena-1/tf", 2)
    machine.run("mv /etc/equipoise/config.toml.right /etc/equipoise/config.toml; kill -HUP " + pid)
    time.sleep(1)
    expect(state(machine, "MainPID") == pid, "a reload ended the daemon")


def trouble(walk: Walk, machine: Machine) -> None:
    """Killed, standing still, started with a wrong configuration: nothing is lost, and systemd does what helps."""
    before, pid = ratings(machine), state(machine, "MainPID")
    machine.run(f"kill -9 {pid}")
    time.sleep(3)
    ready(machine)
    expect(ratings(machine) == before, "kill -9 changed ratings")

    pid = state(machine, "MainPID")
    machine.run(f"kill -STOP {pid}")
    stopped = walk.log.seconds
    while state(machine, "MainPID") in (pid, "0"):
        expect(walk.log.seconds - stopped < FOUND_SECONDS, "the watchdog did not find out that the daemon stands still")
        time.sleep(1)
    ready(machine)
    walk.figure("seconds that a daemon that stands still is away", f"{walk.log.seconds - stopped:.0f}")
    expect("watchdog" in machine.run("journalctl -u equipoise -n 40 --no-pager"), "it was not the watchdog")
    expect(ratings(machine) == before, "the watchdog changed ratings")

    machine.run("sed -i.right 's/k_max/k_mox/' /etc/equipoise/config.toml; systemctl restart equipoise || true")
    time.sleep(5)
    expect(state(machine, "ActiveState") == "failed", "a wrong configuration is started again and again")
    machine.run("mv /etc/equipoise/config.toml.right /etc/equipoise/config.toml; systemctl start equipoise")
    expect(ratings(machine) == before, "a wrong configuration changed ratings")


def damaged(walk: Walk, machine: Machine) -> None:
    """A backup restored, and a store with holes in it replaced by the backup of the night before."""
    before = ratings(machine)
    walk.type(machine, "backup")
    walk.type(machine, "restore")
    ready(machine)
    expect(ratings(machine) == before, "restoring a backup changed ratings")
    (block,) = walk.steps["damaged"]
    (backup,) = re.findall(r"/\S+\.db", block.text)
    machine.run(f"mkdir -p {Path(backup).parent} && equipoise backup {backup} && systemctl kill -s KILL equipoise")
    machine.run("dd if=/dev/urandom of=/var/lib/equipoise/equipoise.db bs=4096 seek=1 count=20 conv=notrunc")
    walk.type(machine, "damaged")
    ready(machine)
    expect(ratings(machine) == before, "restoring the backup changed ratings")


def moved(walk: Walk, old: Machine, new: Machine) -> None:
    """The ratings of one machine on another."""
    before = ratings(old)
    walk.type(old, "move-from")
    for path in (old.root / "root").glob("moved.*"):
        shutil.copy(path, new.root / "root")
    shutil.rmtree(new.root / "srv")
    subprocess.run(["cp", "-a", old.root / "srv", new.root], check=True)
    new.boot()
    walk.type(new, "move-to")
    ready(new)
    expect(ratings(new) == before, "the ratings on the new machine are others")
    play(new, "/srv/arena-1/tf", 2)
    new.stop()


def upgraded(walk: Walk, machine: Machine) -> None:
    """While a game server plays: to the next release by one command, and back by another."""
    shown = ratings(machine)
    replace_wheel(walk.following, machine)
    began, before = walk.log.seconds, rounds(machine)
    start_playing(machine, 60)
    said = walk.type(machine, "upgrade")
    walk.figure("seconds of the upgrade", f"{walk.log.seconds - began:.0f}")
    ready(machine)
    expect("9.8.8" in machine.run("equipoise --version"), said)
    end_playing(machine)
    expect(rounds(machine) == before + 60, f"{rounds(machine)} rounds are stored, and not {before + 60}")
    expect(ratings(machine) != shown, "the rounds that were played meanwhile changed nothing")
    shown = ratings(machine)
    walk.type(machine, "back")
    ready(machine)
    expect("9.8.7" in machine.run("equipoise --version"), "it is not the version before")
    expect(ratings(machine) == shown, "the way back changed ratings")
    expect(rounds(machine) == before + 60, "the way back lost rounds")


def replace_wheel(folder: Path, machine: Machine) -> None:
    """Another release in root's home, where there was one."""
    machine.run("rm -f ~/equipoise-*")
    for path in folder.iterdir():
        shutil.copy(path, machine.root / "root")


def start_playing(machine: Machine, count: int) -> None:
    """Let a game server play, a round every quarter of a second."""
    play = f"python3 /srv/walk/play.py /srv/arena-1/tf/cfg/sourcemod/equipoise.cfg {count} 0.25"
    machine.run(f"setsid bash -c '{play} >~/played; echo $? >~/ended' </dev/null >/dev/null 2>&1 & sleep 2")


def end_playing(machine: Machine) -> None:
    """Wait until that game server has played."""
    machine.run("until test -e ~/ended; do sleep 0.2; done; tail -n 1 ~/played; test $(cat ~/ended) = 0")
    machine.run("rm ~/ended ~/played")


def rounds(machine: Machine) -> int:
    """Of all servers, in the store."""
    query = "import sqlite3; store = sqlite3.connect('file:/var/lib/equipoise/equipoise.db?mode=ro', uri=True)"
    said = machine.run(f"python3 -c \"{query}; print(store.execute('SELECT count(*) FROM rounds').fetchone()[0])\"")
    return int(said.split()[-1])


def earlier(walk: Walk, machine: Machine) -> bool:
    """Make an installed machine one of an earlier commit, set up as the README of that time said, with rounds played.

    Only Equipoise itself is older; the libraries are those of the present. False where this clone lacks the commit.
    """
    if not wheels.build_earlier(machine.wheels, machine.folder / "earlier"):
        walk.log.say(f"this clone does not have {wheels.EARLIER}: no upgrade from it is walked")
        return False
    machine.run("PIPX_HOME=/opt/pipx pipx runpip equipoise install --no-deps --force-reinstall /srv/wheels/*.whl")
    # `pipx install --force` of Debian 13 installs all libraries again, and the booted machine has no network.
    machine.run("PIPX_HOME=/opt/pipx pipx runpip equipoise download --quiet --dest ~/wheels ~/equipoise-*.whl")
    for library in (machine.root / "root/wheels").iterdir():
        if not library.name.startswith("equipoise-"):
            shutil.move(library, machine.wheels)
    machine.boot()
    return True


def from_earlier(walk: Walk, machine: Machine) -> None:
    """From the commit that upgraders have, while a game server plays, and back to it; then nothing is left."""
    if not earlier(walk, machine):
        for step in ("upgrade-first", "back-first", "purge"):
            walk.steps.pop(step)
        return
    files = machine.files()
    machine.run("equipoise init --systemd --server arena-1 --tf /srv/arena-1/tf")
    play(machine, "/srv/arena-1/tf", 3)
    version, before = machine.run("equipoise --version"), rounds(machine)
    expect(wheels.EARLIER_VERSION in version, f"this is not the earlier version: {version}")
    start_playing(machine, 60)
    walk.type(machine, "upgrade-first")
    ready(machine)
    expect(machine.run("equipoise --version") != version, "the version is the same")
    expect(machine.run("systemctl show --property=NeedDaemonReload --value equipoise") == "no\n", "an old unit")
    end_playing(machine)
    expect(rounds(machine) == before + 60, f"{rounds(machine)} rounds are stored, and not {before + 60}")
    shown = ratings(machine)
    walk.type(machine, "back-first")
    ready(machine)
    expect(machine.run("equipoise --version") == version, "it is not the version before")
    expect(rounds(machine) == before + 60, f"{rounds(machine)} rounds came back, and not {before + 60}")
    expect(ratings(machine) == shown, "the way back changed ratings")
    play(machine, "/srv/arena-1/tf", 2)
    machine.run("PIPX_HOME=/opt/pipx PIPX_BIN_DIR=/usr/local/bin pipx install --force ./equipoise-*.whl")
    machine.run("equipoise upgrade")
    ready(machine)
    expect(rounds(machine) == before + 62, "the second upgrade lost rounds")
    machine.run("equipoise init --systemd && mkdir -p /etc/systemd/system/equipoise.service.d")
    (machine.root / "etc/systemd/system/equipoise.service.d/override.conf").write_text("[Service]\nNice=1\n")
    walk.type(machine, "purge")
    ours = re.compile(r"/opt/pipx/(venvs/equipoise|logs|\.cache)(/|$)|/usr/local/bin/equipoise$")
    left = {path for path in machine.files() ^ files if not ours.match(path)}
    expect(not left, f"after uninstalling there is more or less than before: {sorted(left)}")
    machine.run("test ! -e /usr/local/bin/equipoise && test ! -e /opt/pipx/venvs/equipoise")
    machine.stop()


def shared(walk: Walk, one: Machine) -> None:
    """A pool on two machines and one database: shared while its server plays, joined from nothing, left and joined."""
    two = walk.machine("another")
    game_servers(two, "/srv/arena-2/tf")
    # What the booted machines cannot fetch.
    one.run("apt-get update -q && apt-get install -yqd postgresql")
    for path in walk.release.iterdir():
        shutil.copy(path, two.root / "root")
    began = walk.log.seconds
    walk.type(two, "further-install")
    installed = walk.log.seconds - began
    for machine in (one, two):
        with (machine.root / "etc/hosts").open("a") as hosts:
            hosts.write("127.0.0.1 localhost\n10.7.0.1 db.example.org\n")
        machine.boot()
    connected(one, two)
    one.run("equipoise init --systemd --server arena-1 --tf /srv/arena-1/tf")
    play(one, "/srv/arena-1/tf", 2)
    walk.type(one, "database")
    walk.type(one, "reached")
    start_playing(one, 40)
    walk.type(one, "share")
    end_playing(one)
    until_alike(one, one, 42)
    began = walk.log.seconds
    walk.type(two, "further-init")
    walk.figure("minutes to one rating on a further machine", f"{(installed + walk.log.seconds - began) / 60:.1f}")
    expect((ratings(two), rounds(two)) == (ratings(one), 42), "the machine that joined has not what the other has")
    before = ratings(one)
    play(two, "/srv/arena-2/tf", 3)
    until_alike(one, two, 45)
    expect(ratings(one) != before, "what the other machine played changed nothing here")
    expect("another" in one.run("equipoise doctor"), "the other machine is not heard")

    replace_wheel(walk.following, two)
    two.run("equipoise upgrade")
    ready(two)
    play(one, "/srv/arena-1/tf", 2)
    until_alike(one, two, 47)
    walk.type(two, "leave")
    play(two, "/srv/arena-2/tf", 2)
    expect((rounds(one), rounds(two)) == (47, 49), "a machine that left does not go on alone with what it had")
    walk.type(two, "rejoin")
    until_alike(one, two, 47)
    play(two, "/srv/arena-2/tf", 2)
    until_alike(one, two, 49)
    one.stop()
    two.stop()


def until_alike(one: Machine, two: Machine, count: int) -> None:
    """Wait until both machines have so many rounds, and compare ratings."""
    end = time.monotonic() + FOUND_SECONDS
    while (rounds(one), rounds(two)) != (count, count):
        expect(time.monotonic() < end, f"{rounds(one)} and {rounds(two)} rounds are stored, and not {count}")
        time.sleep(0.5)
    expect(ratings(one) == ratings(two), "two machines of a pool show other ratings")


def uninstalled(walk: Walk, machine: Machine) -> None:
    """What was installed is gone; what was played is not."""
    walk.type(machine, "uninstall")
    machine.run("test ! -e /etc/systemd/system/equipoise.service && test ! -e /usr/local/bin/equipoise")
    machine.run("test ! -e /srv/arena-1/tf/addons/sourcemod/plugins/equipoise.smx")
    machine.run("test -s /var/lib/private/equipoise/equipoise.db && test -s /etc/equipoise/config.toml")


def walk_all(walk: Walk) -> None:
    """Every step; at the end no block may be left."""
    machine, second, third, fourth = first_server(walk)
    walk.figure("resident, MB, after rounds of two servers", resident(machine))
    every_day(walk, machine)
    trouble(walk, machine)
    damaged(walk, machine)
    upgraded(walk, machine)
    moved(walk, machine, second)
    uninstalled(walk, machine)
    from_earlier(walk, third)
    shared(walk, fourth)
    expect(not walk.steps, f"no step of the walk runs {', '.join(walk.steps)}")
