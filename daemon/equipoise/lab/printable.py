"""Makes text from files and scripts safe to show."""

from __future__ import annotations

MOST = 240


def printable(text: str, most: int = MOST) -> str:
    """One line without control characters, its middle left out where it is longer than `most`.

    A terminal would obey control characters, and XML forbids them.

    >>> printable("red\\x1b[31m alert")
    'red�[31m alert'
    >>> printable("abcdefgh", most=4)
    'ab…gh'
    """
    if len(text) > most:
        text = f"{text[: most // 2]}…{text[-most // 2 :]}"
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
