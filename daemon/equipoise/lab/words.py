"""Texts from outside, made fit to be shown."""

from __future__ import annotations

MOST = 240


def shown(text: str, most: int = MOST) -> str:
    """On one line, without control characters (a terminal would obey them, XML forbids them), long ones in part."""
    if len(text) > most:
        text = f"{text[: most // 2]}…{text[-most // 2 :]}"
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
