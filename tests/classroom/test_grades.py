"""Grades: a roster and nbgrader's scores, matched; and files that cannot be used, refused with row and column."""

import csv
import json
from pathlib import Path

import pytest

from dshq_widget.classroom.grades import GradesError, as_csv, matched, read_roster, read_scores
from dshq_widget.classroom.spreadsheet import plain
from dshq_widget.cli.main import main

EXPORT = (
    "assignment,duedate,timestamp,student_id,last_name,first_name,email,"
    "raw_score,late_submission_penalty,score,max_score"
)
SCORES = f"""{EXPORT}
watch,,2026-11-23 10:00:00,ada,,,,10.0,0.0,10.0,10.0
watch,,2026-11-23 10:05:00,ben@example.org,,,,0.0,0.0,0.0,10.0
watch,,,cleo,,,,0.0,0.0,0.0,10.0
experiment,,2026-11-24 10:00:00,ADA,,,,15.0,0.0,12.5,20.0
experiment,,2026-11-24 10:00:00,eve,,,,20.0,0.0,20.0,20.0
"""
ROSTER = """id,name,email,seat
Ada,Ada Lovelace,ada@example.org,1
b.en,"Ben, junior",Ben@Example.org,2
cleo,=Cleo,cleo@example.org,3
"""


def files(folder: Path, roster: str = ROSTER, scores: str = SCORES) -> tuple[Path, Path]:
    paths = folder / "roster.csv", folder / "scores.csv"
    for path, text in zip(paths, (roster, scores), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def test_one_row_for_each_student_of_the_roster(tmp_path: Path):
    roster, scores = files(tmp_path)
    found = matched(read_roster(roster), read_scores(scores))
    rows = list(csv.reader(as_csv(found).splitlines()))
    assert rows == [
        ["id", "name", "email", "watch (of 10)", "experiment (of 20)", "total (of 30)"],
        ["Ada", "Ada Lovelace", "ada@example.org", "10", "12.5", "22.5"],
        ["b.en", "Ben, junior", "Ben@Example.org", "0", "", "0"],
        ["cleo", "'=Cleo", "cleo@example.org", "", "", "0"],
    ]
    left_out, absent = found.remarks()
    assert left_out.startswith("In the scores but not in the roster: eve. Their scores are left out")
    assert absent == "In the roster but without a submission: =Cleo (cleo)."


def test_no_cell_is_a_formula(tmp_path: Path):
    """Neither where a comma divides cells nor where a semicolon does."""
    names = {"=1": "'=1", "-1": "'-1", "@x": "'@x", "\uff1d1": "'\uff1d1", "a;=1": "a;'=1", 'a; "=1"': 'a;\' "=1"'}
    names |= {"a\n=1": "a\n'=1", "a\r\n@x": "a\r\n'@x", "a\rb": "a\rb", "a\r\nb": "a\r\nb"}
    names |= {"a;b": "a;b", "Anne-Marie": "Anne-Marie", "a=b": "a=b", "a, =1": "a, =1"}
    assert {name: plain(name) for name in names} == names
    roster, scores = files(tmp_path, scores=SCORES.replace("watch", "=watch").replace("experiment", "x;+experiment"))
    titles = next(csv.reader(as_csv(matched(read_roster(roster), read_scores(scores))).splitlines()))
    assert titles[3:5] == ["'=watch (of 10)", "x;'+experiment (of 20)"]


def test_a_class_in_which_everybody_matches_has_no_remarks(tmp_path: Path):
    row = "watch,,2026-11-23 10:00:00,ada,,,,10.0,0.0,10.0,10.0\n"
    roster, scores = files(tmp_path, "id,name,email\nada,Ada,ada@example.org\n", f"{EXPORT}\n{row}")
    assert matched(read_roster(roster), read_scores(scores)).remarks() == []


@pytest.mark.parametrize("text", [ROSTER.replace(",", ";").replace("Ben; junior", "Ben, junior"), "\ufeff" + ROSTER])
def test_a_roster_as_spreadsheets_save_it(tmp_path: Path, text: str):
    roster, _ = files(tmp_path, text)
    assert [student.id for student in read_roster(roster)] == ["Ada", "b.en", "cleo"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,mail\nada,x\n", r"row 1: wanted the columns id, name, email; without name, email, got 'id,mail'"),
        ("", r"row 1: wanted the columns"),
        ("id,name,email\n", r"it has no student"),
        ("id,name,email\n\n,Ada,a@b\n", r"row 3, column id: it is empty"),
        ("id,name,email\nada,Ada,example.org\n", r"row 2, column email: wanted an address .*, got 'example.org'"),
        ("id,name,email\nada,A,a@b\nADA,B,b@b\n", r"row 3, column id: 'ADA' is already in row 2"),
        ("id,name,email\nada,A,a@b\nben,B,A@b\n", r"row 3, column email: 'A@b' is already in row 2"),
        ("id,name,email\nada,Love, Ada,a@b\n", r"row 2: wanted 3 cells as in row 1, got 4; .* needs quotes"),
    ],
)
def test_a_bad_roster_says_which_row_and_column(tmp_path: Path, text: str, said: str):
    roster, _ = files(tmp_path, text)
    with pytest.raises(GradesError, match=rf"roster\.csv[^:]*.*{said}"):
        read_roster(roster)


def test_scores_that_are_none(tmp_path: Path):
    roster, scores = files(tmp_path, scores=SCORES.replace("12.5", "twelve"))
    with pytest.raises(GradesError, match=r"row 5, column score: wanted a number of points, got 'twelve'"):
        read_scores(scores)
    roster.write_bytes("id,name,email\nada,Adä,a@b\n".encode("latin-1"))
    with pytest.raises(GradesError, match="must be UTF-8 text; save it as 'CSV UTF-8'"):
        read_roster(roster)
    with pytest.raises(GradesError, match="none.csv: cannot read it: No such file"):
        read_scores(tmp_path / "none.csv")


def test_two_ids_of_one_student_are_not_added_up(tmp_path: Path):
    twice = SCORES + "watch,,2026-11-23 10:00:00,ada@example.org,,,,1.0,0.0,1.0,10.0\n"
    roster, scores = files(tmp_path, scores=twice)
    with pytest.raises(GradesError, match="the ids 'ada' and 'ada@example.org' are both Ada Lovelace in the roster"):
        matched(read_roster(roster), read_scores(scores))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture):
    roster, scores = files(tmp_path)
    arguments = ["grades", str(scores), "--roster", str(roster), "--out", str(tmp_path / "course.csv")]
    assert main(arguments) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].endswith("course.csv: 3 students, 2 assignments") and len(said) == 3
    assert (tmp_path / "course.csv").read_text().startswith("id,name,email,watch (of 10)")
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["not_in_roster"], found["nothing_submitted"]) == (["eve"], ["cleo"])
    for read in (roster, scores):
        there = read.read_bytes()
        assert main([*arguments[:-1], str(read)]) == 2
        assert "is what is read: give it another name" in capsys.readouterr().err and read.read_bytes() == there
    roster.write_text("id,name\n")
    assert main(arguments) == 2
    assert "row 1: wanted the columns id, name, email" in capsys.readouterr().err


@pytest.mark.parametrize("where", ["title", "cell"])
def test_a_cell_of_more_letters_than_are_read_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str], where):
    long = "x" * 200_000
    wrong = ROSTER.replace("seat", long) if where == "title" else ROSTER.replace("=Cleo", long)
    roster, scores = files(tmp_path, roster=wrong)
    assert main(["grades", str(scores), "--roster", str(roster), "--out", str(tmp_path / "out.csv")]) == 2
    said = capsys.readouterr().err
    assert f"roster.csv, line {1 if where == 'title' else 4}: it cannot be read (field larger" in said
    assert len(said) < 1000
