"""Files of histories as people have them: what each must be read as, or the one line that says what is wrong."""

from __future__ import annotations

import csv
import gzip
import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import RatingError
from equipoise.lab.columns import Faults, read_csv
from equipoise.lab.models import Model, forecast
from equipoise.lab.reading import Reading, read
from equipoise.ratings.history import scores

MAY = "2024-05-01 2024-05-02 2024-05-03"


def zstd(raw: bytes) -> bytes:
    """A file that is packed by zstd."""
    packed: bytes = pyarrow.compress(raw, "zstd", asbytes=True)
    return packed


@dataclass(frozen=True)
class File:
    """A small file of matches, and what must come out."""

    matches: str | bytes
    scores: str = "1 0.5 0"
    """Of the first team, match by match."""
    days: str = MAY
    teams: str = "Reds-Blues Blues-Reds Reds-Blues"
    people: str = ""
    fault: str = ""
    """The text of all faults, in place of the rest; `M` and `P` are the files."""


GOOD = (
    "match_id,time,team1_name,team2_name,outcome\n"
    "a,2024-05-01,Reds,Blues,1\nb,2024-05-02,Blues,Reds,0.5\nc,2024-05-03,Reds,Blues,0\n"
)
TEXT = GOOD.replace("1\nb", "{}\nb").replace("0.5\nc", "{}\nc").replace(",0\n", ",{}\n")
DATES = GOOD.replace("2024-05-01", "{}").replace("2024-05-02", "{}").replace("2024-05-03", "{}")
PEOPLE = (
    "match_id,team,player_id,weight,kills\n"
    "a,{0},ann,1,3\na,{1},bob,,\nb,{1},ann,,\nb,{0},bob,,\nc,{0},ann,,\nc,{1},bob,,\n"
)
DUELS = "ann-bob bob-ann ann-bob"

FILES = {
    "as documented": File(GOOD),
    "semicolons": File(GOOD.replace(",", ";")),
    "tabs": File(GOOD.replace(",", "\t")),
    "bars": File(GOOD.replace(",", "|")),
    "semicolons with decimal commas": File(GOOD.replace(",", ";").replace("0.5", "0,5")),
    "a line for a spreadsheet above the header": File("sep=;\n" + GOOD.replace(",", ";")),
    "a byte order mark before a column that is needed": File(
        b"\xef\xbb\xbf" + GOOD.encode(), people=PEOPLE.format("1", "2"), teams=DUELS
    ),
    "a spreadsheet's Unicode text": File(GOOD.replace(",", "\t").encode("utf-16")),
    "lines that end as on Windows": File(GOOD.replace("\n", "\r\n")),
    "case and blanks in the header": File(
        GOOD.replace("match_id,time", " Match ID , TIME").replace("team1_name", "Team1 Name")
    ),
    "other names of columns": File(
        GOOD.replace("match_id,time,team1_name,team2_name,outcome", "Game,Date,Home Team,Away-Team,Result")
    ),
    "blanks around fields": File(GOOD.replace(",", " , ")),
    "empty lines, and rows of commas below": File(GOOD.replace("\nb", "\n\nb") + ",,,,\n\n,,,,\n"),
    "quoted fields": File(
        '"match_id","time","team1_name","team2_name","outcome"\n' + GOOD.split("\n", 1)[1].replace("Reds", '"Reds"')
    ),
    "quotes, commas and line breaks in names": File(
        GOOD.replace("Reds", '"Reds ""1"", A\nB"'),
        teams='Reds "1", A\nB-Blues Blues-Reds "1", A\nB Reds "1", A\nB-Blues',
    ),
    "no end of the last line": File(GOOD.rstrip()),
    "win, draw, loss": File(TEXT.format("Win", "DRAW", "loss")),
    "w, d, l": File(TEXT.format("W", "d", "L")),
    "home and away": File(TEXT.format("home", "draw", "away")),
    "the number of the winner": File(TEXT.format("1", "0", "2")),
    "1, x, 2": File(TEXT.format("1", "X", "2")),
    "the winner's name": File(TEXT.format("Reds", "tie", "Blues")),
    "as in chess": File(TEXT.format("1-0", "½-½", "0-1")),
    "scores for results": File(
        GOOD.replace("outcome", "score1,score2")
        .replace("Blues,1\n", "Blues,3,1\n")
        .replace("0.5", "2,2")
        .replace(",0\n", ",0,4\n")
    ),
    "winner and loser": File(
        "date,winner,loser\n2024-05-01,Reds,Blues\n2024-05-02,Blues,Reds\n2024-05-03,Reds,Blues\n", scores="1 1 1"
    ),
    "home and away as columns": File(
        "date,home,away,result\n2024-05-01,Reds,Blues,H\n2024-05-02,Blues,Reds,D\n2024-05-03,Reds,Blues,A\n"
    ),
    "days before months": File(
        DATES.format("13/05/2024", "14/05/2024", "02/06/2024"), days="2024-05-13 2024-05-14 2024-06-02"
    ),
    "months before days": File(
        DATES.format("05/01/2024", "05/02/2024", "05/13/2024 9:30 PM"), days="2024-05-01 2024-05-02 2024-05-13"
    ),
    "dates with points": File(DATES.format("1.5.2024", "02.05.2024", "03.05.24 21:30")),
    "dates in words": File(DATES.format('"May 1, 2024"', "2 May 2024", '"Fri, 3 May 2024 21:30:00 +0200"')),
    "days as one number": File(DATES.format("20240501", "20240502", "20240503")),
    "milliseconds": File(DATES.format("1714521600000", "1714608000000", "1714694400000")),
    "days and clocks in two columns": File(
        GOOD.replace("time", "date,time")
        .replace("-01,", "-01,20:00,")
        .replace("-02,", "-02,9:15 pm,")
        .replace("-03,", "-03,,")
    ),
    "the newest match first": File("\n".join([GOOD.split("\n")[0], *GOOD.split("\n")[3:0:-1], ""])),
    "rows in any order": File("\n".join([GOOD.split("\n")[0], *(GOOD.split("\n")[row] for row in (2, 3, 1)), ""])),
    "gzip, whatever its name": File(gzip.compress(GOOD.encode())),
    "zstd, whatever its name": File(zstd(GOOD.encode())),
    "no times at all": File(
        GOOD.replace("2024-05-01", "").replace("2024-05-02", "").replace("2024-05-03", ""), days="- - -"
    ),
    "no column of times": File(
        "team1_name,team2_name,outcome\nReds,Blues,1\nBlues,Reds,0.5\nReds,Blues,0\n", days="- - -"
    ),
    "all drawn": File(TEXT.format("draw", "draw", "draw"), scores="0.5 0.5 0.5"),
    "sides by their names": File(
        GOOD.replace("match_id", "id")
        .replace(",Reds,Blues,1", ",,,blue")
        .replace(",Blues,Reds,0.5", ",,,draw")
        .replace(",Reds,Blues,0", ",,,red"),
        people=PEOPLE.format("blue", "red"),
        teams=DUELS,
    ),
    "teams by their names": File(
        GOOD,
        people=PEOPLE.replace("b,{1}", "b,{0}", 1).replace("b,{0},bob", "b,{1},bob").format("Reds", "Blues"),
        teams=DUELS,
    ),
    "percent of the match played": File(GOOD, people=PEOPLE.replace(",1,3", ",85 %,3").format("1", "2"), teams=DUELS),
    "what programs write for nothing": File(
        GOOD.replace("2024-05-02", "NULL"),
        people=PEOPLE.replace(",1,3", ",NA,-").format("1", "2"),
        teams=DUELS,
        days="2024-05-01 - 2024-05-03",
    ),
    "a column that nobody reads": File(
        GOOD.replace("outcome", "outcome,moon")
        .replace("1\nb", "1,full\nb")
        .replace("0.5\n", "0.5,\n")
        .replace(",0\n", ",0,-\n")
    ),
    "dates that may be two": File(
        DATES.format("01/05/2024", "02/05/2024", "03/05/2024"),
        fault="\n".join(
            f"M:{line}: time '0{line - 1}/05/2024' may be day/month or month/day: write year-month-day"
            for line in (2, 3, 4)
        ),
    ),
    "SteamIDs that a spreadsheet rounded": File(
        GOOD,
        people=PEOPLE.replace("ann,1", "7.65612E+16,1").format("1", "2"),
        fault="P:2: player_id '7.65612E+16' was rounded by a spreadsheet: many players may have become one",
    ),
    "thousands with commas": File(
        GOOD.replace("outcome", "outcome,score1")
        .replace("Blues,1\n", 'Blues,1,"1,234"\n')
        .replace("5\n", "5,\n")
        .replace(",0\n", ",0,\n"),
        fault="M:2: score1 '1,234' may be thousands or a decimal: write it without a comma",
    ),
    "no result, and teams without names": File(
        GOOD.replace("Reds,Blues,1", ",,"),
        people=PEOPLE.format("1", "2"),
        fault="M:2: outcome '' is not 1, 0.5 or 0, nor win, draw or loss, nor a team that plays",
    ),
    "a team against itself": File(
        GOOD.replace("c,2024-05-03,Reds", "c,2024-05-03,Blues"), fault="M:4: Blues on both sides"
    ),
    "one player in all matches": File(
        GOOD,
        people="match_id,team,player_id\na,1,ann\nb,1,ann\nc,1,ann\n",
        fault="\n".join(
            f"M:{line}: no player for team 2 of match {name}" for line, name in zip("234", "abc", strict=True)
        ),
    ),
    "faults in both files": File(
        TEXT.format("5", "0.5", "maybe"),
        people=PEOPLE.replace("b,{1},ann", "x,{1},ann").format("1", "2"),
        fault="M:2: outcome '5' is not 1, 0.5 or 0, nor win, draw or loss, nor a team that plays\n"
        "M:4: outcome 'maybe' is not 1, 0.5 or 0, nor win, draw or loss, nor a team that plays\n"
        "P:4: match_id 'x' is not in the file of matches",
    ),
    "a spreadsheet itself": File(
        b"PK\x03\x04" + b"rubbish", fault="M: a zip archive or a spreadsheet: unpack it, or save the sheet as CSV"
    ),
    "a zstd that ends early": File(
        zstd(GOOD.encode())[:-3], fault="M: not a whole gzip or zstd file: it ends or breaks"
    ),
    "Unicode text that ends early": File(
        GOOD.replace(",", "\t").encode("utf-16")[:-1], fault="M:4: not UTF-16: b'\\n'"
    ),
    "a gzip that ends early": File(
        gzip.compress(GOOD.encode())[:-12], fault="M: not a whole gzip or zstd file: it ends or breaks"
    ),
}


def said(matches: Path, people: Path | None, reading: Reading | None = None) -> str:
    """All faults of files, with short names of these."""
    try:
        reading = reading or read(matches, people)
        text = "\n".join(reading.faults.texts(reading.faults.counts))
    except RatingError as error:
        text = str(error)
    return text.replace(str(matches), "M").replace(str(people), "P")


@pytest.mark.parametrize("name", FILES)
def test_a_messy_file_is_read_as_meant_or_refused_in_one_line(name: str, tmp_path: Path) -> None:
    file, matches, people = FILES[name], tmp_path / "matches.csv", tmp_path / "people.csv"
    matches.write_bytes(file.matches if isinstance(file.matches, bytes) else file.matches.encode())
    if file.people:
        people.write_text(file.people)
    participants = people if file.people else None
    if file.fault:
        assert said(matches, participants) == file.fault
        return
    reading = read(matches, participants)
    assert said(matches, participants, reading) == ""
    history = reading.rateable()
    assert scores(history).tolist() == [float(score) for score in file.scores.split()]
    days = [
        "-" if np.isnan(time) else datetime.fromtimestamp(time, UTC).date().isoformat() for time in history.started_at
    ]
    assert days == file.days.split()
    names = [history.players[member] for member in history.members]
    assert " ".join("-".join(names[at : at + 2]) for at in range(0, len(names), 2)) == file.teams


def test_a_fault_of_a_fact_stops_only_what_reads_it(tmp_path: Path) -> None:
    matches, people = tmp_path / "matches.csv", tmp_path / "people.csv"
    matches.write_text(GOOD)
    people.write_text(PEOPLE.replace(",1,3", ",1,-1").format("1", "2"))
    history = read(matches, people).rateable()
    assert len(forecast(Model("elo"), history).predicted) == 3
    with pytest.raises(RatingError, match=r"people\.csv:2: kills '-1' is not a number from 0 to 1,000,000$"):
        forecast(Model("trueskill2"), history)
    people.write_text(PEOPLE.replace(",1,3", ",1.5,3").format("1", "2"))
    with pytest.raises(RatingError, match=r"people\.csv:2: weight '1\.5' is not a number from 0 to 1$"):
        read(matches, people).rateable()


def test_the_first_ten_faults_are_shown_and_the_others_counted(tmp_path: Path) -> None:
    matches = tmp_path / "matches.csv"
    head, row = GOOD.split("\n")[:2]
    matches.write_text("\n".join([head, *(row.replace("a,", f"{n},").replace(",1", ",no idea") for n in range(1234))]))
    with pytest.raises(RatingError) as refused:
        read(matches, None).rateable()
    lines = str(refused.value).split("\n")
    assert [line.split(":")[1] for line in lines[:-1]] == [str(line) for line in range(2, 12)]
    assert lines[-1] == "and 1,224 more"


class Typed(io.TextIOWrapper):
    """Standard input with these bytes."""

    def __init__(self, raw: bytes) -> None:
        super().__init__(io.BytesIO(raw))


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd])
def test_standard_input_and_pipes_are_read_packed_or_not(
    pack: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tmp_path / "matches.csv"
    plain.write_bytes(pack(GOOD.encode()))
    monkeypatch.setattr(sys, "stdin", Typed(plain.read_bytes()))
    read_end, write_end = os.pipe()
    os.write(write_end, plain.read_bytes())
    os.close(write_end)
    for path in (plain, Path("-"), Path(f"/dev/fd/{read_end}")):
        assert read(path, None).rateable().players == ("Reds", "Blues")
    os.close(read_end)


TEXTS = st.text('ab1.,;|- é\n"', max_size=6).filter(lambda text: not text.strip().startswith('"'))


@given(
    st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=30),
    st.sampled_from(",;|\t"),
    st.sampled_from(["\n", "\r\n"]),
)
def test_what_pythons_csv_writes_is_read_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], separator: str, end: str
) -> None:
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    line, written = 1, []
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=separator, lineterminator=end)
        writer.writerow(("word", "other"))
        for row in rows:
            writer.writerow(row)
            line += 1 + "".join(row).count("\n")
            if any(map(str.strip, row)):
                written.append((line, *map(str.strip, row)))
    faults = Faults()
    table = read_csv(path, {"word": (), "other": ()}, faults, distinct=("other",))
    one, other = table.words("word"), table.words("other")
    assert [(table.lines[row], one.at(row), other.at(row)) for row in range(len(table))] == written
    assert faults.texts([""]) == ([] if written else [f"{path}: no rows"])
