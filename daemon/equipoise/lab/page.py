"""A report on one page: tables and charts in a single HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from equipoise.lab.svg import Chart, picture
from equipoise.lab.tables import Table

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


def page(title: str, introduction: str, tables: Sequence[Table], charts: Sequence[Chart]) -> str:
    """The text of the HTML file."""
    body = [f"<h1>{escape(title)}</h1>", f"<p>{escape(introduction)}</p>"]
    body += [_section(table) for table in tables]
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


def _section(table: Table) -> str:
    head = "".join(f'<th scope="col"{_kind(table, place)}>{escape(cell)}</th>' for place, cell in enumerate(table.head))
    rows = "\n".join(_row(table, row) for row in table.rows)
    note = f"<p>{escape(table.note)}</p>" if table.note else ""
    body = f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table></div>'
    return f"<h2>{escape(table.title)}</h2>\n{body}\n{note}"


def _row(table: Table, row: Sequence[str]) -> str:
    cells = (f"<td{_kind(table, place)}>{escape(cell)}</td>" for place, cell in enumerate(row))
    return f"<tr>{''.join(cells)}</tr>"


def _kind(table: Table, place: int) -> str:
    return ' class="text"' if place < table.texts else ""
