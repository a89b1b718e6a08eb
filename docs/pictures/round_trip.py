"""The life of one round, from the game's event to the reply, as a sequence of calls."""

from __future__ import annotations

from docs.pictures.draw import FAINT, INK, Sheet

LANES = {
    "game": ("game server", "plugin", "#eceff3"),
    "web": ("web", "aiohttp, wire", "#fde8c8"),
    "host": ("service.host", "one per server", "#fde8c8"),
    "session": ("core.session", "pure rules", "#d9f0e3"),
    "pool": ("service.pool", "one per pool", "#fde8c8"),
    "store": ("store", "its own thread", "#fde8c8"),
}

STEPS: tuple[tuple[str, str, str], ...] = (
    ("game", "game", "teamplay_round_win|the plugin keeps the round"),
    ("game", "web", "POST {round_ended, …}"),
    ("web", "host", "decoded: handle(batch)"),
    ("host", "session", "receive(RoundEnded, now)"),
    ("session", "host", "RecordRound, Say, …"),
    ("host", "pool", "record(round, memory)"),
    ("pool", "store", "all rounds that wait"),
    ("store", "store", "one transaction:|read, rate, write, sync"),
    ("store", "pool", "new ratings"),
    ("pool", "host", "stored, or kept in the ring's file"),
    ("host", "session", "answers are events"),
    ("host", "web", "orders, cache, due_if"),
    ("web", "game", "{rounds: {id: stored}, …}"),
    ("game", "game", "the round is forgotten,|the orders carried out"),
    ("host", "store", "behind the reply: names, decisions, memory in one transaction"),
)

LANE, TOP, STEP = 172, 84, 40


def draw() -> str:
    """The picture as SVG."""
    middle = {name: 94 + LANE * number for number, name in enumerate(LANES)}
    bottom = TOP + STEP * len(STEPS) + 24
    sheet = Sheet(94 * 2 + LANE * (len(LANES) - 1), bottom + 16)
    for name, (title, subtitle, colour) in LANES.items():
        sheet.line(middle[name], 66, middle[name], bottom)
        sheet.box(middle[name] - 70, 12, 140, 54, colour, title, subtitle)
    for number, (start, end, text) in enumerate(STEPS):
        y = TOP + STEP * number + 26
        x1, x2 = middle[start], middle[end]
        if start == end:
            sheet.box(x1 - 78, y - 22, 156, 36, "#ffffff", "")
            for row, line in enumerate(text.split("|")):
                sheet.text(x1, y - 7 + 14 * row, line, size=11)
            continue
        behind = text.startswith("behind")
        sheet.arrow(x1, y, x2, y, colour=FAINT if behind else INK, dashed=behind)
        sheet.text((x1 + x2) / 2, y - 6, text, size=11.5)
    return sheet.svg()
