"""Mods of a few lines for tests, written as the game loads them."""

from __future__ import annotations

from pathlib import Path


def write_mod(
    folder: Path, name: str, server: str, *, priority: int | None = None, file_hooks: str = "", text_entry: bool = False
) -> Path:
    """An overlay folder with an entry and a server script; with `text_entry` the old form of a `modEntry`."""
    scripts = {"Server": (f"lua/{name}/server.lua", server)}
    if file_hooks:
        scripts["FileHooks"] = (f"lua/{name}/filehooks.lua", file_hooks)
    mod = folder / name
    for path, source in scripts.values():
        (mod / path).parent.mkdir(parents=True, exist_ok=True)
        (mod / path).write_text(source)
    fields = {kind: path for kind, (path, _) in scripts.items()}
    if text_entry:
        words = [f"{kind}: {path}" for kind, path in fields.items()]
        words += [f"Priority: {priority}"] if priority is not None else []
        entry = f"modEntry = [[ {', '.join(words)} ]]"
    else:
        items = [f'{kind} = "{path}"' for kind, path in fields.items()]
        items += [f"Priority = {priority}"] if priority is not None else []
        entry = f"modEntry = {{ {', '.join(items)} }}"
    (mod / "lua/entry").mkdir(parents=True, exist_ok=True)
    (mod / f"lua/entry/{name}.entry").write_text(entry)
    return mod
