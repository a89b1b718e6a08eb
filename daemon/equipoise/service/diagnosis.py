"""Findings for `equipoise doctor`: what is wrong with the daemon and its game servers, and what to do about it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from equipoise.core.model import ServerId
from equipoise.core.rules import MATCH_HUMANS
from equipoise.game.port import Inspection, PeerStatus, RconStatus, WebState, one_line
from equipoise.ratings import BALANCED_BY
from equipoise.service.jobs import JobStatus
from equipoise.service.notices import WebhookStatus
from equipoise.service.pool import Pool
from equipoise.service.refits import SpreadStatus
from equipoise.service.status import ServerStatus
from equipoise.shared.log import Server as PublishedServer
from equipoise.shared.log import Survey
from equipoise.store.connection import StoreHealth
from equipoise.store.measurements import Gained, TeamSize
from equipoise.versions import order

DAEMON = "daemon"
"""What findings are about that concern no single server."""
BEST = 10
"""Players at the top of a pool."""
LEAST_FREE_BYTES = 100 << 20
CLOCKS_APART = 2.0
"""Seconds between a machine's clock and the database's that are worth a word."""
FIRST_SECOND = 1735689600
"""Of 2025: a clock that shows an earlier time was not set since the machine was started."""
SKEW_SECONDS = 60.0
PATIENCE_SECONDS = 60.0
"""A script calls every few seconds, and one that was not let in every 30: after so long one that runs has called."""
MENDED_SECONDS = 120.0
"""A script that is refused calls again within 30 s: one that was not for so long was put right or stopped."""
TF2_APP = 440
"""Team Fortress 2 at Steam."""
OLD_SEATS, SEATS_VERSION = 64, "1.12"
"""More players than this need SourceMod of this version: MAXPLAYERS of clients.inc was 65 until then, and is 101."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, or that an operator may not expect."""

    bad: bool
    """False: a note that needs no action."""
    about: str
    """A server's name, or `daemon`."""
    what: str
    """The fault, in words."""
    advice: str
    """What to do."""


@dataclass(frozen=True, slots=True)
class Tried:
    """Requests that were refused in the last hour: a wrong secret, or one that belongs to another server."""

    server: str
    """The name that they claim; empty where they name none."""
    code: str
    peer: str
    count: int
    owner: str
    """The server whose secret the last one carried; empty: nobody's."""
    ago: float
    """Seconds since the last one."""
    turns: int
    """How often a batch of the claimed server was taken between two of them."""


def of_daemon(health: StoreHealth, pools: Iterable[Pool], jobs: Iterable[JobStatus], epoch: float) -> Iterator[Finding]:
    """The store, the rounds that wait for it, the disk, the jobs and the clock."""
    if health.state != "ok":
        yield Finding(True, DAEMON, f"the store is {health.state}", health.advice)
    pools = tuple(pools)
    for pool in pools:
        if pool.ring_depth:
            what = f"{pool.ring_depth} rounds of pool {pool.name} wait for the store"
            yield Finding(True, DAEMON, what, "the log says why the store did not take them; they are tried again")
    for pool in pools:
        yield from of_sharing(pool)
        yield from of_balance(pool)
        yield from of_default(pool)
        yield from of_weights(pool)
    for directory in {pool.ring.path.parent for pool in pools}:
        yield from of_disk(directory)
    for job in jobs:
        if job.last_error is not None:
            yield Finding(True, DAEMON, f"the job {job.name} failed: {job.last_error}", "the log says more")
    if epoch < FIRST_SECOND:
        yield Finding(True, DAEMON, "this machine's clock was never set", "set it, then restart the daemon")
    yield from _of_numba(os.environ)


def of_weights(pool: Pool) -> Iterator[Finding]:
    """Whether `trueskill2` reads what players did: without weights of counts it is TrueSkill."""
    if pool.system.name == "trueskill2" and not pool.system.params.reads_counts:
        what = f"pool {pool.name}: its trueskill2 reads neither kills nor deaths, as TrueSkill does"
        advice = f"equipoise pool estimate {pool.name} estimates what they count, from 500 rounds on"
        yield Finding(False, DAEMON, what, advice)


def of_gained(pool: str, gained: Gained) -> Iterator[Finding]:
    """The highest ratings, if they come from rounds of a few players: these are quick to play, and alike."""
    if gained.points > 0.0 and gained.by_few >= gained.points / 3.0:
        share = round(100.0 * min(1.0, gained.by_few / gained.points))
        few = f"rounds of less than {MATCH_HUMANS} players"
        what = f"pool {pool}: the {gained.players} best won {share} % of their points in {few}"
        key = f"min_rated_humans = {MATCH_HUMANS}"
        advice = f"{key}, at the top or in a server's table: from then on those are not rated"
        yield Finding(False, DAEMON, what, advice)


def of_balance(pool: Pool) -> Iterator[Finding]:
    """Whether the system that should make a pool's teams does."""
    follower = pool.follower
    if follower is None or follower.ready:
        return
    if follower.failure is not None:
        what = f"balance = {follower.name} of pool {pool.name} failed, {pool.system.name} makes the teams: "
        advice = "the log says more; it is tried again every minute, and without `balance` it is left out"
        yield Finding(True, DAEMON, what + follower.failure, advice)
    else:
        what = f"balance = {follower.name} of pool {pool.name} is being built, {pool.system.name} makes the teams"
        yield Finding(False, DAEMON, what, "it takes a second for a thousand rounds")


def of_sharing(pool: Pool) -> Iterator[Finding]:
    """Whether a shared pool follows its log."""
    if (state := pool.sharing) is None or state.trouble is None:
        return
    waits = f"{pool.ring_depth} rounds wait" if pool.ring_depth else "no round waits"
    about = f"shared pool {pool.name}" if state.connected else f"the log of the shared pool {pool.name} is not followed"
    what = f"{about}, {waits}: {state.trouble}"
    yield Finding(not state.connected, DAEMON, what, "games go on; rounds are kept here until it is")


def of_survey(pool: str, survey: Survey, elsewhere: Iterable[PublishedServer], own: Iterable[str]) -> Iterator[Finding]:
    """The database of a shared pool, the machines that feed it, and game servers that have one name."""
    about = f"database of pool {pool}"
    if not survey.durable:
        advice = "set fsync = on and full_page_writes = on in postgresql.conf, and restart it"
        yield Finding(True, about, "a crash may lose rounds that it has confirmed", advice)
    if survey.read_only:
        advice = "name the primary in its URL, or target_session_attrs=read-write"
        yield Finding(True, about, "it is a standby, or only read", advice)
    for machine in survey.machines:
        if abs(machine.clock_seconds) > CLOCKS_APART:
            what = f"the clock of machine {machine.machine} is {machine.clock_seconds:+.0f} s from the database's"
            yield Finding(False, about, what, "set it by NTP: rounds are in the log's order, but dated by it")
    names = {*own}
    for server in elsewhere:
        if server.pool == pool and server.server in names:
            what = f"game server {server.server} is configured on machine {server.machine} too"
            yield Finding(True, about, what, "give one of them another name: their rounds would be one server's")
    # Their versions are what `equipoise pool upgrade` waits for.
    heard = ", ".join(f"{peer.machine} ({peer.status['version']}) {peer.seconds:.0f} s ago" for peer in survey.machines)
    how = [f"PostgreSQL {survey.version}", f"{1e3 * survey.round_trip_seconds:.0f} ms away"]
    how += ["encrypted" if survey.encrypted else "not encrypted"]
    how += ["it tells of rounds at once" if survey.notifies and not survey.pooled else "it is asked every second"]
    how += ["a commit waits for a standby"] * survey.standbys
    yield Finding(False, about, f"{', '.join(how)}; machines heard: {heard or 'none'}", "nothing to do")


def of_default(pool: Pool) -> Iterator[Finding]:
    """The system that makes the teams of new pools like this one."""
    better = BALANCED_BY.get(pool.system.name)
    if pool.follower is None and better is not None:
        what = f"pool {pool.name}: {pool.system.name} makes the teams, those of new pools are made by {better}"
        advice = (
            f'balance = "{better}" in [pool.{pool.name}] and a restart: fairer teams from then on, by all stored '
            "rounds; the ratings that players see stay"
        )
        yield Finding(False, DAEMON, what, advice)


def of_spread(pool: str, status: SpreadStatus | None) -> Iterator[Finding]:
    """A spread of skill that a pool's rounds exclude, and that it cannot learn."""
    fit = None if status is None or not status.fixed else status.found
    if fit is not None and not fit.missing:
        what = f"pool {pool}: spread is {fit.present:.3g}, but its rounds say {fit.spread:.3g} ± {fit.error:.2g}"
        place = f'[pool.{pool}.balance_params], or into [pool.{pool}] where system = "joint"'
        yield Finding(False, DAEMON, what, f"write spread = {fit.spread:.3g} into {place}, and restart the daemon")


def of_disk(directory: Path) -> Iterator[Finding]:
    """How much room there is for the store."""
    try:
        free = shutil.disk_usage(directory).free
    except OSError as error:
        advice = "stop the daemon, put the directory back or restore a backup, start it again"
        yield Finding(True, DAEMON, f"{directory}, where the store is: {error.strerror}", advice)
        return
    if free < LEAST_FREE_BYTES:
        yield Finding(True, DAEMON, f"{free >> 20} MB are free where the store is ({directory})", "make room")


def _of_numba(environ: Mapping[str, str]) -> Iterator[Finding]:
    """numba compiles for `pool recompute` and the laboratory, and keeps what it compiled."""
    cache = environ.get("NUMBA_CACHE_DIR")
    if cache is None:
        return
    place = next((folder for folder in (Path(cache), *Path(cache).parents) if folder.exists()), Path("/"))
    if not (place.is_dir() and os.access(place, os.W_OK)):
        what = f"NUMBA_CACHE_DIR={cache} cannot be written: every bulk calculation compiles anew"
        yield Finding(True, DAEMON, what, "make it a folder that the daemon's user can write")


def of_webhooks(webhooks: Iterable[WebhookStatus]) -> Iterator[Finding]:
    """Webhooks that take no messages."""
    for webhook in webhooks:
        if webhook.off:
            what = f"the webhook of [notice.{webhook.name}] is switched off: {webhook.fault}"
            yield Finding(True, DAEMON, what, f"correct its URL, or make a new one, then: {RELOAD}")
        elif webhook.fault:
            what = f"the webhook of [notice.{webhook.name}] does not take messages: {webhook.fault}"
            yield Finding(True, DAEMON, what, "they are tried again, but for one that was refused itself")


def _over(attempt: Tried, silent: Mapping[ServerId, float | None]) -> bool:
    """Whether a script that was not let in was put right, or stopped.

    It is where its server, or the one whose secret it had, calls since; if both did so in turns, another script had the
    name, and that one is over when it no longer tries while servers are heard.
    """
    heard = {name for name, seconds in silent.items() if seconds is not None and seconds < attempt.ago}
    if not attempt.turns and heard & {attempt.server, attempt.owner}:
        return True
    return bool(heard) and attempt.ago >= MENDED_SECONDS


def of_tries(tried: Iterable[Tried], silent: Mapping[ServerId, float | None]) -> Iterator[Finding]:
    """Scripts that are not let in; `silent`: all servers, with how long ago their script was heard, None: never."""
    names: set[str] = set(silent)
    for attempt in tried:
        if _over(attempt, silent):
            continue
        name = one_line(attempt.server) or "a server without a name"
        about = attempt.server if attempt.server in names else DAEMON
        times = f"{attempt.count} times in the last hour" if attempt.count > 1 else "in the last hour"
        if attempt.server and attempt.server not in names:
            what = f"{name} called from {attempt.peer} {times}, but there is no [server.{name}]"
            advice = f"correct the server's name there, or add it: equipoise server add {name}"
        elif attempt.code == "server":
            what = f"{name} called from {attempt.peer} {times} with the secret of another server"
            advice = f"give it its own secret, or its own name: is {name} right?"
        else:
            what = f"{name} called from {attempt.peer} {times} with a wrong secret"
            advice = f"equipoise server secret {name} --rotate makes a new one for it"
        yield Finding(True, about, what, advice)


@dataclass(frozen=True, slots=True)
class Script:
    """The program that calls from a game's servers, and how its operator looks after it."""

    word: str
    look: str
    """Where to look when it does not call; `{name}` is the server."""
    start: str
    """What to do when the game runs without it."""
    ours: bool = True
    """Its version is this daemon's, or should be."""


SCRIPTS = {
    "tf2": Script(
        "plugin",
        "on the game server's console: sm plugins info equipoise (if it is unknown there: sm plugins load equipoise), "
        "sm exts list (REST in Pawn must be there)",
        "load the plugin: sm plugins load equipoise",
    ),
    "ns2": Script(
        "mod",
        "on the game server's console: sv_eq_status. If the command is unknown, MapCycle.json must name the mod; else "
        "compare url, server ({name}) and secret in its Equipoise.json",
        "mount the mod: add its id to MapCycle.json",
    ),
    "other": Script(
        "script",
        "does it run, with the daemon's address, the name {name} and its secret? Its own log may say more",
        "start it",
        ours=False,
    ),
}
"""By game."""


def of_server(server: ServerStatus, script: Script, version: str) -> Iterator[Finding]:
    """Findings by what a server's script says, or that it is silent; `version` is the daemon's."""
    yield from _of_script(server, script, version)
    name = server.server
    if server.stale_scripts:
        what = f"{len(server.stale_scripts) + 1} scripts call with this name"
        yield Finding(True, name, what, "does it run on two servers? Give one its own name and secret")
    if server.dropped_rounds:
        what = f"its script lost {server.dropped_rounds} rounds that it could not send"
        yield Finding(False, name, what, "it keeps 8: find out why it could not reach the daemon")
    if server.inactive_reason == "shuffle":
        what = "Shine's voterandom shuffles the teams, and Equipoise stands aside: rounds are rated, no player is moved"
        advice = "on the server's console: sh_unloadplugin voterandom true, which also takes it out of BaseConfig.json"
        yield Finding(True, name, what, advice)
    elif server.inactive_reason == "damaged":
        what = "a file of its mod is damaged: rounds are rated, no player is moved"
        advice = "the server's log names it: remove the server's copy of the mod and restart the server"
        yield Finding(True, name, what, advice)
    elif server.inactive_reason:
        what = f"it is inactive: {server.inactive_reason}"
        yield Finding(False, name, what, "that is right for this mode; another map or mode ends it")
    elif server.level != "balance":
        what = f"on this map it {'is inactive' if server.level == 'off' else 'only rates'}: {server.level_reason}"
        yield Finding(False, name, what, 'the table [maps] says so; "balance" there changes it')
    if not server.enabled:
        yield Finding(False, name, "an admin switched it off", f"equipoise server on {name}")
    if server.unranked:
        what = f"the game does not rank its rounds: {UNRANKED[server.unranked]}"
        yield Finding(
            False, name, what, "its players' ratings here do not depend on it; for Steam's it must be otherwise"
        )
    off = server.clock_ahead
    if off is not None and abs(off) > SKEW_SECONDS:
        what = f"its machine's clock is {abs(off):,.0f} s {'ahead of' if off > 0 else 'behind'} this one's"
        yield Finding(True, name, what, "set both clocks by the network's time: timedatectl set-ntp true")


def of_refused(server: ServerStatus, script: Script, version: str, epoch: float) -> Iterator[Finding]:
    """Batches that the daemon does not take from a server's script."""
    for batch in server.refused_batches:
        if batch.status >= 500:
            advice = "the daemon's log says what failed"
        elif script.ours:
            advice = f"install the {script.word} that came with this daemon ({version}), and load it anew"
        else:
            advice = "compare what the script sends with docs/protocol.md"
        kinds = " and ".join(batch.kinds) or "any batch"
        minutes = (epoch - batch.last) / 60.0
        ago = f"{minutes / 60.0:.0f} h" if minutes >= 120.0 else f"{max(0.0, minutes):.0f} min"
        what = (
            f"batches of its script refused: {batch.count}, the last one {ago} ago: "
            f"{' at '.join(filter(None, (batch.code, batch.path)))}: {batch.message}"
        )
        yield Finding(True, server.server, what, f"{advice}; it is over when {kinds} is taken")


def _of_script(server: ServerStatus, script: Script, version: str) -> Iterator[Finding]:
    name, look = server.server, script.look.format(name=server.server)
    if awaited(server):
        what = f"its script has not called yet: the daemon serves it for {server.served_seconds:.0f} s"
        yield Finding(False, name, what, f"ask again in a minute; until it calls: {look}")
    elif server.silent_seconds is None:
        yield Finding(True, name, f"its script {_never(server)}", look)
    elif server.lost:
        yield Finding(True, name, f"its script has been silent for {server.silent_seconds:.0f} s", look)
    if script.ours and server.plugin is not None:
        yield from _of_version(name, script, server.plugin, version)


def awaited(server: ServerStatus) -> bool:
    """Whether a script that was not heard may still come: the daemon has just started, or the server was just added."""
    return server.silent_seconds is None and server.served_seconds < PATIENCE_SECONDS


def _never(server: ServerStatus) -> str:
    """Say how long a script is silent that was not heard since the daemon serves its server."""
    minutes = f"{server.served_seconds / 60.0:.0f} min"
    return f"has not called since the daemon started {minutes} ago" if server.boot else "has never called"


def _of_version(name: str, script: Script, plugin: str, version: str) -> Iterator[Finding]:
    theirs, ours = order(plugin), order(version)
    # Scripts of other authors say their name too: `own-game/1`.
    if theirs is None or ours is None or plugin == version:
        return
    what = f"its {script.word} is version {plugin}, {'older' if theirs < ours else 'newer'} than the daemon's {version}"
    advice = f"install the {script.word} of the daemon's version" if theirs < ours else "update the daemon"
    yield Finding(True, name, what, advice)


def is_old(plugin: str | None, script: Script, version: str) -> bool:
    """Whether a server's script is ours and older than the daemon."""
    theirs, ours = order(plugin or ""), order(version)
    return script.ours and theirs is not None and ours is not None and theirs < ours


RELOAD = "equipoise reload"
UNRANKED = {
    "cheats": "sv_cheats is on",
    "slots": "it has fewer than 12 or more than 20 slots",
    "spectators": "it has more than 5 spectators' slots",
    "mods": "a mod is mounted that is not on the game's list, as Equipoise's own is not",
}
"""By the mod's word: the conditions of NS2's engine (LZZZZ/ns2-improved-web-admin, docs/CONSTRAINTS.md 18)."""


def of_peer(
    server: ServerStatus, peer: PeerStatus, inspection: Inspection | WebState | None, script: Script, version: str
) -> Iterator[Finding]:
    """Findings by RCON or web admin, and A2S; `inspection`: None where the server has none, or did not answer."""
    name, query = server.server, peer.query
    yield from _of_rcon(name, peer.rcon, script)
    heard = server.silent_seconds is not None and not server.lost
    if query.state != "off" and query.error is not None:
        advice = "is `query` the right address?" if heard else "is the game server running?"
        yield Finding(True, name, f"nothing answers A2S at {query.address}: {query.error}", advice)
    elif query.answer is not None and not (heard or awaited(server)):
        what = f"the game server answers A2S ({query.answer.map}), so it is its script that is silent"
        yield Finding(True, name, what, script.start)
    if isinstance(inspection, WebState):
        yield from _of_web_state(name, inspection, script, heard=heard or awaited(server))
    if script is not SCRIPTS["tf2"]:
        return
    answer = query.answer
    if answer is not None and answer.app != TF2_APP and not answer.game.startswith("Team Fortress"):
        what = f"at {query.address} runs {answer.game} (Steam's app {answer.app}), not Team Fortress 2"
        advice = f"is it the right address in [server.{name}]? For another game's server write game there"
        yield Finding(True, name, what, advice)
    if isinstance(inspection, Inspection):
        yield from _of_inspection(server, inspection, version)
        if answer is not None:
            yield from _of_seats(name, answer.max_players, inspection.version)


def _of_rcon(name: ServerId, rcon: RconStatus, script: Script) -> Iterator[Finding]:
    match rcon.state:
        case "refused" if script is SCRIPTS["ns2"]:
            advice = (
                f"compare rcon_user and the file of rcon_password_file with -webuser and -webpassword, then: {RELOAD}"
            )
            yield Finding(True, name, "the web admin refuses user and password; they are not tried again", advice)
        case "refused":
            advice = f"write the game server's rcon_password into the file of rcon_password_file, then: {RELOAD}"
            yield Finding(True, name, "the game server refuses the RCON password; it is not tried again", advice)
        case "closed":
            advice = "on its console: listip, removeip ADDRESS"
            yield Finding(True, name, "the game server hangs up at the RCON login: it may have banned us", advice)
        case "unreachable":
            advice = f"is the game server up, and does it listen on {rcon.address} (ss -ltnp)?"
            yield Finding(True, name, f"RCON failed: {rcon.error}", advice)


def _of_web_state(name: ServerId, state: WebState, script: Script, *, heard: bool) -> Iterator[Finding]:
    if state.cheats:
        yield Finding(True, name, "sv_cheats is on: its rounds are not rated", "on its console: sv_cheats 0")
    if not heard:
        crowd = f"{state.map}, players: {state.players - state.bots}"
        what = f"the web admin answers ({crowd}), so it is the mod that is silent"
        yield Finding(True, name, what, script.start)


def _of_seats(name: ServerId, seats: int, sourcemod: str | None) -> Iterator[Finding]:
    """Whether SourceMod knows as many players as the server has places for."""
    numbers = re.match(r"[\d.]+\d", sourcemod or "")
    version, least = order(numbers[0]) if numbers else None, order(SEATS_VERSION)
    if seats > OLD_SEATS and version is not None and least is not None and version < least:
        what = f"it has {seats} slots, and SourceMod {sourcemod} knows {OLD_SEATS} players at most"
        advice = f"install SourceMod {SEATS_VERSION} or newer, or start the server with -maxplayers {OLD_SEATS}"
        yield Finding(True, name, what, advice)


def _of_inspection(server: ServerStatus, inspection: Inspection, version: str) -> Iterator[Finding]:
    name = server.server
    if not inspection.sourcemod:
        yield Finding(True, name, "SourceMod does not run there", "install Metamod:Source and SourceMod")
        return
    if inspection.plugin_state is None:
        yield Finding(True, name, "the plugin is not loaded", "on its console: sm plugins load equipoise")
    elif inspection.plugin_state != "Running":
        what = f"SourceMod says of the plugin: {inspection.plugin_state}"
        yield Finding(True, name, what, "on its console: sm plugins info equipoise")
    elif inspection.plugin is not None and server.plugin is None:
        yield from _of_version(name, SCRIPTS["tf2"], inspection.plugin, version)
    for rival in inspection.rivals:
        what = f"another plugin seems to balance teams: {rival}"
        yield Finding(True, name, what, "unload it, and move its .smx into plugins/disabled")
    acts = server.enabled and server.level == "balance" and not server.inactive_reason
    if inspection.plugin_state == "Running" and acts and server.silent_seconds is not None and not server.lost:
        for variable in inspection.switched_on:
            what = f"{variable} is on, although the plugin switches it off: something else sets it"
            yield Finding(True, name, what, "look for it in server.cfg, in map configs and in other plugins")


# What RCON and A2S say of game servers beside what their scripts say.


def remarks(server: ServerStatus, peer: PeerStatus, script: Script) -> Iterator[str]:
    """Sentences for the operator of one server, each with what to do."""
    if (silence := _silence(server, peer, script)) is not None:
        yield f"{server.server}: {silence}."
    match peer.rcon.state:
        case "refused":
            # NS2's web admin refuses a user and a password: the error says who refused what.
            keys = "rcon_user and the file" if script is SCRIPTS["ns2"] else "the file"
            advice = f"correct {keys} of rcon_password_file, then: {RELOAD}"
            yield f"{server.server}: {peer.rcon.error}, and it is not tried again: {advice}."
        case "closed" | "unreachable":
            yield f"{server.server}: RCON at {peer.rcon.address} failed: {peer.rcon.error}."


def _silence(server: ServerStatus, peer: PeerStatus, script: Script) -> str | None:
    """One of the two is silent although the other is not; or both are."""
    query = peer.query
    heard = server.silent_seconds is not None and not server.lost
    if query.state == "answers" and query.answer is not None and not (heard or awaited(server)):
        silent = f"its script {_never(server) if server.silent_seconds is None else 'is silent'}"
        seen = f"the game server answers ({query.answer.map}, players: {query.answer.players})"
        return f"{seen}, but {silent}: {script.look.format(name=server.server)}"
    if query.state == "silent" and heard:
        return (
            f"its script calls, but nothing answers A2S at {query.address} ({query.error}): is `query` the right "
            "address, and does the game server listen on it?"
        )
    if query.state == "silent" and not awaited(server):
        return f"neither its script nor the game server at {query.address} answers: is it running?"
    return None


# The team sizes that a pool saw, beside the `k_max` that it was told.

LEAST = 50
"""Rounds that are needed before a `k_max` is proposed."""
USUAL = 20
"""A size that fewer than one of so many rounds reached is an exception."""
FAR = 1.5
"""A `k_max` is far off if the Θ of the one that was seen is so many times as large or as small."""


@dataclass(frozen=True, slots=True)
class TeamSizes:
    """How large a pool's teams are."""

    rounds: int
    """As many were looked at."""
    usual: int
    """The largest size that is usual: reached in one round of twenty; the median over the pool's servers."""
    k_max: int | None
    """The configured `k_max`; null for a system without one, and where `theta` is configured itself."""
    suggested_k_max: int | None
    """The `k_max` for these teams, if the configured one is far off: its Θ 1.5 times as large or as small, or more.
    Null below 50 rounds."""


def team_sizes(pool: Pool, rows: Sequence[TeamSize]) -> TeamSizes | None:
    """Return the sizes of a pool's teams by its last rounds; None without rounds."""
    by_server: dict[str, list[int]] = {}
    for row in rows:
        by_server.setdefault(row.server, []).append(row.size)
    if not by_server:
        return None
    usual = max(1, int(median(sorted(sizes)[-1 - len(sizes) // USUAL] for sizes in by_server.values())))
    params = pool.system.params
    if getattr(params, "k_max", None) is None or params.theta is not None:
        return TeamSizes(len(rows), usual, None, None)
    times = replace(params, k_max=usual).scale / params.scale
    far = len(rows) >= LEAST and not 1 / FAR < times < FAR
    return TeamSizes(len(rows), usual, params.k_max, usual if far else None)
