"""A report on one page: tables and charts in a single HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from equipoise.lab.svg import Chart, picture
from equipoise.lab.tables import Sheet

STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --soft: #59636e; --line: #d8dee4; --paper: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9198a1; --line: #30363d; --paper: #0d1117; } }
body {
  margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 68rem;
  color: var(--ink); background: var(--paper); font: 16px/1.5 system-ui, sans-serif;
}
h1 { font-size: 1.6rem; line-height: 1.25; }
h2 { font-size: 1.15rem; margin-top: 2.2rem; }
p { color: var(--soft); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.93rem; }
th, td { padding: 0.3rem 0.7rem 0.3rem 0; border-bottom: 1px solid var(--line); }
th, td { text-align: right; white-space: nowrap; }
.text { text-align: left; }
td.text + td.text { white-space: normal; overflow-wrap: anywhere; }
svg { max-width: 100%; height: auto; display: block; margin-top: 1.5rem; }
"""


def page(title: str, introduction: str, sheets: Sequence[Sheet], charts: Sequence[Chart]) -> str:
    """The file's text."""
    body = [f"<h1>{escape(title)}</h1>", f"<p>{escape(introduction)}</p>"]
    body += [_sheet(sheet) for sheet in sheets]
    body += [picture([chart]) for chart in charts]
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    return "\n".join(
        (
            "<!DOCTYPE html>",
            f'<html lang="en"><head>{meta}<title>{escape(title)}</title>',
            f"<style>{STYLE}</style></head><body>",
            *body,
            "</body></html>\n",
        )
    )


def _sheet(sheet: Sheet) -> str:
    head = "".join(f'<th scope="col"{_kind(sheet, place)}>{escape(cell)}</th>' for place, cell in enumerate(sheet.head))
    rows = "\n".join(_row(sheet, row) for row in sheet.rows)
    note = f"<p>{escape(sheet.note)}</p>" if sheet.note else ""
    table = f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table></div>'
    return f"<h2>{escape(sheet.title)}</h2>\n{table}\n{note}"


def _row(sheet: Sheet, row: Sequence[str]) -> str:
    cells = (f"<td{_kind(sheet, place)}>{escape(cell)}</td>" for place, cell in enumerate(row))
    return f"<tr>{''.join(cells)}</tr>"


def _kind(sheet: Sheet, place: int) -> str:
    return ' class="text"' if place < sheet.texts else ""
