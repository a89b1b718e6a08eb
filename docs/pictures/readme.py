"""The README's pictures.

`demo.svg` and `demo-ns2.svg` are one moment each of `equipoise demo`. `compare.svg` is what `equipoise lab compare
--plot` draws for a history that is generated here with a fixed seed.
"""

from __future__ import annotations

import asyncio
import copy
import csv
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path
from random import Random

from rich.console import Console
from rich.terminal_theme import TerminalTheme

from equipoise.cli.demo import GameName, Options, run
from equipoise.demo.stage import Board, Line, Stage, screen
from equipoise.lab.simulation.outcome_model import OutcomeModel
from equipoise.lab.simulation.population import Person, Population, Scenario

DOCS = Path(__file__).parents[1]
EVENINGS = {
    "tf2": Options("tf2", rounds=100, seed=15, players=11),
    "ns2": Options("ns2", rounds=200, seed=16, players=12),
}
MOMENTS = {"tf2": 60, "ns2": 120}
"""The round in the picture: of TF2's soon after the restart of the daemon, and one that may make a scramble due; of
NS2's soon after the vote."""
WIDTH, HEIGHT = 112, 30
"""Columns and lines of the terminal."""
DARK = TerminalTheme(
    background=(13, 17, 23),
    foreground=(230, 237, 243),
    normal=[
        *((72, 79, 88), (255, 123, 114), (63, 185, 80), (210, 153, 34)),
        *((88, 166, 255), (188, 140, 255), (57, 197, 207), (177, 186, 196)),
    ],
    bright=[
        *((110, 118, 129), (255, 161, 152), (86, 211, 100), (227, 179, 65)),
        *((121, 192, 255), (210, 168, 255), (86, 212, 221), (240, 246, 252)),
    ],
)
FRAME = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<title>equipoise demo, round by round in a terminal</title>
<style>
.{unique_id}-matrix {{
    font-family: ui-monospace, "Fira Code", "DejaVu Sans Mono", Menlo, Consolas, monospace;
    font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width;
}}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: system-ui, sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix" xml:space="preserve">
{matrix}
</g>
</g>
</svg>
"""
"""Rich's own frame without its web fonts: a picture in a README may load nothing."""


class Camera(Stage):
    """A stage that remembers what the screen shows when a round is about to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        self.seen: tuple[Board, tuple[Line, ...]] | None = None
        self._ticker: list[Line] = []

    def add(self, line: Line) -> None:
        """Keep the ticker, as the live screen does."""
        self._ticker.append(line)

    def show(self, board: Board) -> None:
        """Keep the last moment of the wanted round in which it is still running."""
        if board.number == self.number and board.winner is None:
            # The record in it grows with the evening.
            self.seen = copy.deepcopy(board), tuple(self._ticker)


def demo(path: Path, game: GameName) -> None:
    """Play a whole evening, and draw one moment of it."""
    camera = Camera(MOMENTS[game])
    with tempfile.TemporaryDirectory() as home:
        asyncio.run(run(EVENINGS[game], Path(home), camera))
    assert camera.seen is not None, "the evening has that round"
    board, ticker = camera.seen
    console = Console(record=True, width=WIDTH, height=HEIGHT, file=StringIO(), force_terminal=True)
    console.print(screen(board, ticker, WIDTH, HEIGHT), height=HEIGHT)
    title = "equipoise demo" if game == "tf2" else f"equipoise demo --game {game}"
    drawn = console.export_svg(title=title, theme=DARK, code_format=FRAME, unique_id="demo")
    path.write_text(drawn, "utf-8")


ROUNDS, SIDE, PEOPLE = 4000, 6, 40
SYSTEMS = ("synelo:k_max=6", "elo", "glicko2", "trueskill", "trueskill2", "ns2")


def compare(path: Path) -> None:
    """Have six systems predict a history of random teams."""
    with tempfile.TemporaryDirectory() as home:
        matches, participants = Path(home) / "matches.csv", Path(home) / "participants.csv"
        write_history(matches, participants)
        files = ("--matches", str(matches), "--participants", str(participants))
        main = "from equipoise.cli import main; main()"
        subprocess.run(
            [sys.executable, "-c", main, "lab", "compare", *SYSTEMS, *files, "--plot", str(path)], check=True
        )


def write_history(matches: Path, participants: Path) -> None:
    """Rounds between random people of hidden, drifting skill; some come much more often than others."""
    rng, scenario = Random(6), Scenario(people=PEOPLE, spread=0.4, turnover=0.005, stalemates=0.0)
    population, outcomes = Population(scenario, rng), OutcomeModel(scenario, rng)
    with matches.open("w", newline="") as first, participants.open("w", newline="") as second:
        rounds, players = csv.writer(first), csv.writer(second)
        rounds.writerow(("match_id", "time", "outcome"))
        players.writerow(("match_id", "team", "player_id"))
        for number in range(ROUNDS):
            population.pass_round(number + 1, set())
            everybody = {person.id: person for person in population.people}
            here = sorted(population.people, key=lambda person: attendance(rng, person))[: 2 * SIDE]
            rng.shuffle(here)
            teams = [{person.id: 1.0 for person in here[team::2]} for team in (0, 1)]
            winner = outcomes.winner(*teams, everybody, "granary", (), outcomes.luck())
            rounds.writerow((number, 1_700_000_000 + 240 * number, 1 if winner and winner.value == "a" else 0))
            players.writerows((number, team, player) for team, ids in enumerate(teams, 1) for player in ids)


def attendance(rng: Random, person: Person) -> float:
    """The lowest come: an exponential draw at a rate that differs tenfold among people."""
    return rng.expovariate(1 + int(person.id) % 10)
