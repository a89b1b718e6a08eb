"""Histories from CSV: what is read, and how what is wrong is said."""

from __future__ import annotations

import gzip
import math
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from equipoise.errors import RatingError
from equipoise.lab.reading import read, read_history
from equipoise.ratings.history import ALONE, UNKNOWN
from tests.lab import sets


def replaced(rows: tuple[str, ...], place: int, row: str) -> tuple[str, ...]:
    return (*rows[:place], row, *rows[place + 1 :])


def test_a_set_becomes_a_history(tmp_path: Path) -> None:
    history = read_history(*sets.write(tmp_path))
    assert history.players == ("ann", "bob", "cid", "dan")
    assert history.members.tolist() == [0, 1, 2, 2, 0, 0, 1, 2, 3]
    assert history.teams.tolist() == [0, 2, 3, 4, 5, 7, 9]
    assert history.ranks.tolist() == [0, 1, 0, 0, 1, 0]
    assert history.started_at.tolist() == [1714521600.0, 1714681800.0, 1714766400.0]


def test_facts_are_read_where_they_are_given(tmp_path: Path) -> None:
    history = read_history(*sets.write(tmp_path))
    assert history.sides == ("home", "away")
    assert history.side is not None
    assert history.side.tolist() == [0, 1, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN]
    assert (history.maps, history.modes) == (("dust",), ("cup",))
    assert history.map is not None
    assert history.map.tolist() == [0, 0, UNKNOWN]
    np.testing.assert_array_equal(history.points, [3, 1, 2, 2, math.nan, math.nan])
    np.testing.assert_array_equal(history.seconds, [600, math.nan, math.nan])
    np.testing.assert_array_equal(history.fraction_played, [1, 0.5] + [math.nan] * 7)
    np.testing.assert_array_equal(history.kills, [10, 3] + [math.nan] * 7)
    assert history.quit is not None
    assert history.quit.tolist() == [False, False, True] + [False] * 6


def test_no_array_is_of_a_type_for_which_kernels_would_be_compiled_once_more(tmp_path: Path) -> None:
    """For numba an array that is read-only, as those of pyarrow are, is of another type than one that is not."""
    history = read_history(*sets.write(tmp_path))
    arrays = {each.name: getattr(history, each.name) for each in fields(history)}
    assert [name for name, one in arrays.items() if isinstance(one, np.ndarray) and not one.flags.writeable] == []


COUNTED = (
    "match_id,team,player_id,assists,points,extra",
    "m1,2,cid,2,,classes=medic:60|scout:180.5",
    "m1,1,ann,5,31,quit=1;classes=scout:240",
    "m2,1,ann,,,",
    "m2,2,cid,,,",
    "m3,1,ann,,,",
    "m3,2,cid,0,0,classes=",
)


def test_counts_and_seconds_by_class_are_read_in_the_order_of_the_teams(tmp_path: Path) -> None:
    matches, people = sets.write(tmp_path)
    people.write_text("\n".join(COUNTED) + "\n")
    history = read_history(matches, people)
    np.testing.assert_array_equal(history.assists, [5, 2, math.nan, math.nan, math.nan, 0])
    np.testing.assert_array_equal(history.player_points, [31, math.nan, math.nan, math.nan, math.nan, 0])
    assert history.classes == ("medic", "scout")
    assert history.class_seconds is not None
    assert history.class_seconds.tolist() == [[0, 240], [60, 180.5], *[[0, 0]] * 4]


@pytest.mark.parametrize(
    ("classes", "reason"),
    [
        ("scout", "classes 'scout' is not class:seconds|class:seconds, each class once"),
        ("scout:1|scout:2", "classes 'scout:1|scout:2' is not class:seconds|class:seconds, each class once"),
        ("spy:-1", "classes 'spy:-1' has '-1' for spy, which is not a number from 0 to 10,000,000"),
    ],
)
def test_seconds_by_class_that_are_none_are_refused_with_file_and_line(
    classes: str, reason: str, tmp_path: Path
) -> None:
    matches, people = sets.write(tmp_path)
    people.write_text("\n".join((*COUNTED[:2], COUNTED[2].replace("scout:240", classes), *COUNTED[3:])) + "\n")
    assert refused((matches, people)) == f"{people}:3: {reason}"


def test_players_of_a_squad_share_a_number_and_players_without_one_are_alone(tmp_path: Path) -> None:
    squad = read_history(*sets.write(tmp_path)).squad
    assert squad is not None
    assert squad[0] == squad[1] != ALONE
    assert squad[[2, 3, 4, 5, 7, 8]].tolist() == [ALONE] * 6


@pytest.mark.parametrize(
    ("times", "days"),
    [
        (("20190127", "20190128"), (17923, 17924)),
        (("2018", "2019"), (17532, 17897)),
        (("", "2019", "2019-06-30"), (math.nan, 17897, 18077)),
    ],
)
def test_numbers_that_all_look_like_dates_are_dates(
    times: tuple[str, ...], days: tuple[float, ...], tmp_path: Path
) -> None:
    matches, _ = sets.write(tmp_path, tuple(f"m{number},{time},,A,B,1,,,," for number, time in enumerate(times)))
    np.testing.assert_array_equal(read_history(matches, None).started_at / 86400, days)


@pytest.mark.parametrize(
    "times", [("1000", "1950", "2019"), ("2019.0", "2020"), ("20191301",), ("20190100",), ("201901",), ("-5", "2019")]
)
def test_numbers_are_seconds_where_one_of_them_is_no_date(times: tuple[str, ...], tmp_path: Path) -> None:
    rows = tuple(f"m{number},{time},,A,B,1,,,," for number, time in enumerate(times))
    assert read_history(sets.write(tmp_path, rows)[0], None).started_at.tolist() == sorted(map(float, times))


def test_columns_without_any_value_are_unknown(tmp_path: Path) -> None:
    rows = tuple(f"m{number},{number},,,,1,,,," for number in (1, 2, 3))
    people = tuple(row.rsplit(",", 4)[0] + ",,,," for row in sets.PARTICIPANTS)
    history = read_history(*sets.write(tmp_path, rows, people))
    kept = {each.name for each in fields(history) if each.default is None and getattr(history, each.name) is not None}
    assert kept == set()


def test_participants_may_come_in_any_order(tmp_path: Path) -> None:
    shuffled = read_history(*sets.write(tmp_path, people=tuple(reversed(sets.PARTICIPANTS))))
    named = [shuffled.players[number] for number in shuffled.members]
    assert named == ["bob", "ann", "cid", "cid", "ann", "bob", "ann", "dan", "cid"]
    np.testing.assert_array_equal(shuffled.fraction_played, [0.5, 1] + [math.nan] * 7)


def test_teams_can_be_the_players(tmp_path: Path) -> None:
    history = read_history(sets.write(tmp_path)[0], None)
    assert history.players == ("Reds", "Blues")
    assert history.members.tolist() == [0, 1, 1, 0, 0, 1]


def test_sides_can_be_named(tmp_path: Path) -> None:
    rows = tuple(row.rsplit(",", 2)[0] + ",0,side1=marines;side2=aliens" for row in sets.MATCHES)
    history = read_history(*sets.write(tmp_path, rows))
    assert history.sides == ("marines", "aliens")


NO_RESULT = "is not 1, 0.5 or 0, nor win, draw or loss, nor a team that plays"
NO_TIME = "is neither an ISO date nor seconds since 1970"
NO_LENGTH = "is not a number from 0.001 to 10,000,000"
NO_WEIGHT = "is not a number from 0 to 1,000,000"
NO_SCORE = "is not a number from -1,000,000 to 1,000,000"
BAD_MATCHES = {
    "an unknown outcome": ("m1,0,,A,B,2,,,,", f"2: outcome '2' {NO_RESULT}"),
    "no outcome": ("m1,0,,A,B,,,,,", f"2: outcome '' {NO_RESULT}"),
    "a word for an outcome": ("m1,0,,A,B,perhaps,,,,", f"2: outcome 'perhaps' {NO_RESULT}"),
    "a time that is none": ("m1,yesterday,,A,B,1,,,,", f"2: time 'yesterday' {NO_TIME}"),
    "a zero-length match": ("m1,0,,A,B,1,,,,seconds=0", f"2: seconds '0' {NO_LENGTH}"),
    "a length that is none": ("m1,0,,A,B,1,,,,seconds=ages", f"2: seconds 'ages' {NO_LENGTH}"),
    "a match of years": ("m1,0,,A,B,1,,,,seconds=1e300", f"2: seconds '1e300' {NO_LENGTH}"),
    "a weight below nothing": ("m1,0,,A,B,1,,,,map=dust;weight=-1", f"2: weight '-1' {NO_WEIGHT}"),
    "a weight above all": ("m1,0,,A,B,1,,,,weight=1e300", f"2: weight '1e300' {NO_WEIGHT}"),
    "points that are none": ("m1,0,,A,B,1,x,,,", f"2: score1 'x' {NO_SCORE}"),
    "points that nobody scores": ("m1,0,,A,B,1,0,-1e308,,", f"2: score2 '-1e308' {NO_SCORE}"),
    "a number as programs write it": ("m1,0,,A,B,1,1_0,,,", f"2: score1 '1_0' {NO_SCORE}"),
    "seconds as programs write them": ("m1,1_714_521_600,,A,B,1,,,,", f"2: time '1_714_521_600' {NO_TIME}"),
    "a time in milliseconds": ("m1,1714521600000,,A,B,1,,,,", f"2: time '1714521600000' {NO_TIME}"),
    "half a home": ("m1,0,,A,B,1,,,0.5,", "2: home '0.5' is not 0 or 1"),
    "sides that are one": (
        "m1,0,,A,B,1,,,,side1=red;side2=red",
        "2: sides 'red' and 'red' are not two different names",
    ),
    "one side": ("m1,0,,A,B,1,,,,side1=red", "2: sides 'red' and '' are not two different names"),
    "facts without a value": ("m1,0,,A,B,1,,,,fast", "2: extra 'fast' is not key=value;key=value"),
    "too few fields": ("m1,0,,A,B,1", "2: 6 fields, the header has 10"),
    "a match that is there twice": ("m3,0,,A,B,1,,,,", "4: match_id 'm3' appears twice"),
}


def refused(files: tuple[Path, Path]) -> str:
    """What is wrong in files; "accepted" where nothing is."""
    try:
        faults = read(*files).faults
    except RatingError as error:
        return str(error)
    return "\n".join(faults.texts(faults.counts)) or "accepted"


def test_a_bad_match_is_refused_with_file_and_line(tmp_path: Path) -> None:
    for name, (row, reason) in BAD_MATCHES.items():
        files = sets.write(tmp_path, replaced(sets.MATCHES, 0, row))
        assert f"{files[0]}:{reason}" in refused(files).split("\n"), name


BAD_PEOPLE = {
    "the same player on both sides": ("m1,2,ann,,,,", "4: ann is on both sides of match m1"),
    "the same player twice": ("m1,1,ann,,,,", "4: ann is twice on one side of match m1"),
    "a third team": ("m1,3,cid,,,,", "4: team '3' is not 1 or 2, nor a team or side of the match"),
    "an unknown match": ("m9,2,cid,,,,", "4: match_id 'm9' is not in the file of matches"),
    "nobody's name": ("m1,2,,,,,", "4: player_id '' is not a player who can be rated"),
    "a bot": ("m1,2,bot:7,,,,", "4: player_id 'bot:7' is not a player who can be rated"),
    "more than a whole match": ("m1,2,cid,1.2,,,", "4: weight '1.2' is not a number from 0 to 1"),
    "fewer than no kills": ("m1,2,cid,1,-1,0,", "4: kills '-1' is not a number from 0 to 1,000,000"),
    "infinitely many deaths": ("m1,2,cid,1,1,inf,", "4: deaths 'inf' is not a number from 0 to 1,000,000"),
    "too many fields": ("m1,2,cid,1,1,1,,", "4: 8 fields, the header has 7"),
    "a control character in a name": (
        "m1,2,ann\x1b,,,,\nm1,1,ann\x1b,,,,",
        "5: ann\ufffd is on both sides of match m1",
    ),
}


def test_a_bad_participant_is_refused_with_file_and_line(tmp_path: Path) -> None:
    for name, (row, reason) in BAD_PEOPLE.items():
        files = sets.write(tmp_path, people=replaced(sets.PARTICIPANTS, 2, row))
        assert f"{files[1]}:{reason}" in refused(files).split("\n"), name


def test_an_empty_team_is_refused_with_the_line_of_its_match(tmp_path: Path) -> None:
    files = sets.write(tmp_path, people=sets.PARTICIPANTS[:3] + sets.PARTICIPANTS[4:])
    with pytest.raises(RatingError, match=r"matches\.csv:3: no player for team 1 of match m2$"):
        read_history(*files)


@pytest.mark.parametrize(("names", "reason"), [("A,A", "A on both sides"), ("A,", "a team without a name")])
def test_whole_teams_need_two_names(names: str, reason: str, tmp_path: Path) -> None:
    matches, _ = sets.write(tmp_path, (f"m1,0,,{names},1,,,,",))
    with pytest.raises(RatingError, match=f":2: {reason}$"):
        read_history(matches, None)


def test_missing_columns_are_named(tmp_path: Path) -> None:
    matches, people = sets.write(tmp_path)
    matches.write_text("match_id,when\nm1,0\n")
    with pytest.raises(RatingError, match=r"csv:1: no column outcome; there are match_id, when$"):
        read_history(matches, people)


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    matches, people = sets.write(tmp_path)
    matches.write_text("match_id,time,outcome,time\nm1,0,1,5\n")
    with pytest.raises(RatingError, match=r"csv:1: column time appears twice$"):
        read_history(matches, people)


def test_a_head_of_rubbish_is_shown_in_part_and_without_control_characters(tmp_path: Path) -> None:
    matches, _ = sets.write(tmp_path)
    for head in ("\0\x1b[2J" * 50_000, "A" * 1_000_000, '"' + "A" * 1_000_000 + '"'):
        matches.write_text(f"{head}\nm1,0,1,5\n")
        with pytest.raises(RatingError) as refused:
            read_history(matches, None)
        message = str(refused.value).removeprefix(f"{matches}:1: ")
        assert message != str(refused.value)
        assert len(message) < 300
        assert message.isprintable()


def test_a_field_that_is_wrong_and_long_is_shown_in_part(tmp_path: Path) -> None:
    files = sets.write(tmp_path, replaced(sets.MATCHES, 0, f"m1,0,,A,B,{'9' * 100_000},,,,"))
    with pytest.raises(RatingError) as refused:
        read_history(*files)
    assert str(refused.value).startswith(f"{files[0]}:2: outcome '999")
    assert len(str(refused.value)) < len(str(files[0])) + 300


def test_lines_may_end_as_on_old_macintoshes(tmp_path: Path) -> None:
    matches, people = sets.write(tmp_path)
    matches.write_bytes(matches.read_bytes().replace(b"\n", b"\r"))
    assert len(read_history(matches, people)) == len(sets.MATCHES)


def test_files_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    matches, people = sets.write(tmp_path)
    for raw, reason in (
        (b"", "csv:1: no column match_id, outcome; there are none"),
        (sets.HEAD.encode() + b"\n", "csv: no rows"),
        (gzip.compress(matches.read_bytes())[:40], "csv: not a whole gzip or zstd file"),
        (sets.HEAD.encode() + b"\nm1,0,,A,B,1,,,,\nm2,0,,\xff,B,1,,,,\n", "csv:3: not UTF-8: b'\\xff'"),
        (sets.HEAD.encode() + b'\nm1,0,,"A",B,1,,,,\nm2,0,,\xff,B,1,,,,\n', "csv:3: not UTF-8: b'\\xff'"),
        (b"match_id,\xff\n", "csv:1: not UTF-8"),
        (gzip.compress(matches.read_bytes()) + b"rest", "csv: not a whole gzip or zstd file"),
        (gzip.compress(matches.read_bytes())[:-8] + b"12345678", "csv: not a whole gzip or zstd file"),
        (b"\x1f\x8b" + b"rubbish" * 9, "csv: not a whole gzip or zstd file"),
        (
            sets.HEAD.encode() + b'\nm1,0,,A,B,1,,,,\nm2,0\nm3,0,,"' + b"A,\n" * 800_000,
            "csv:4: a row of more than a megabyte: is a quote not closed?",
        ),
    ):
        matches.write_bytes(raw)
        with pytest.raises(RatingError) as refused:
            read_history(matches, people)
        assert reason in str(refused.value)
    with pytest.raises(RatingError, match="No such file"):
        read_history(tmp_path / "none.csv", people)
