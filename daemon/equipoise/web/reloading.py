"""Has the configuration read again."""

from __future__ import annotations

from equipoise.errors import ConfigError
from equipoise.web.messages.reloading import ReloadAsked, ReloadDone
from equipoise.web.routes import Asked, refused


async def reload(asked: Asked) -> ReloadDone:
    """Put the files in force, or say what that would change; 409 with the file, the key and the reason."""
    body: ReloadAsked = asked.body
    try:
        done = await asked.services.reloads.run(asked.caller.who, dry=body.dry_run)
    except ConfigError as error:
        raise refused("configuration", str(error)) from None
    return ReloadDone(changes=done.changes, restart=done.restart)
