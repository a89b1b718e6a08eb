"""What RCON and A2S say of game servers beside what their scripts say, in words for operators."""

from __future__ import annotations

from collections.abc import Iterator

from equipoise.game.port import PeerStatus
from equipoise.service.status import ServerStatus


def remarks(server: ServerStatus, peer: PeerStatus) -> Iterator[str]:
    """What an operator should know of one server, a sentence each, with what to do."""
    if (said := _silence(server, peer)) is not None:
        yield f"{server.server}: {said}."
    match peer.rcon.state:
        case "refused":
            advice = "correct the file of rcon_password_file, then load the configuration again"
            yield f"{server.server}: the RCON password is wrong and is not tried again: {advice}."
        case "closed" | "unreachable":
            yield f"{server.server}: RCON at {peer.rcon.address} failed: {peer.rcon.error}."


def _silence(server: ServerStatus, peer: PeerStatus) -> str | None:
    """One of the two is silent although the other is not; or both are."""
    query = peer.query
    heard = server.silent_seconds is not None and not server.lost
    if query.state == "answers" and query.answer is not None and not heard:
        script = "its script has never called" if server.silent_seconds is None else "its script is silent"
        seen = f"the game server answers ({query.answer.map}, players: {query.answer.players})"
        return f"{seen}, but {script}: is the plugin loaded? On its console: sm plugins info equipoise"
    if query.state == "silent" and heard:
        return (
            f"its script calls, but nothing answers A2S at {query.address} ({query.error}): is `query` the right "
            "address, and does the game server listen on it?"
        )
    if query.state == "silent":
        return f"neither its script nor the game server at {query.address} answers: is it running?"
    return None
