"""`dshq check`: a drill that keeps its promises passes; a promise that is broken is found and told with its mend."""
# ruff: noqa: F821  (random, random_int, circle and box are words of the rules language)

import json
import py_compile
import sys
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from py_compile import PycInvalidationMode

import pytest

from dshq_widget.cli.drill_argument import classes
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drill.declaration import Observation, rule
from dshq_widget.drills.bandit import Bandit
from dshq_widget.drills.cartpole import CartPole
from dshq_widget.drills.sumo import Sumo
from dshq_widget.env import check_subject
from dshq_widget.env.check import CHECKS, inspect, suite
from dshq_widget.env.check_subject import Subject
from tests.harness.command import dshq, process
from tests.harness.games.drill_page import LESSON
from tests.harness.games.small_drill import drill_with
from tests.harness.games.toy_drills import Race


class Crooked(Bandit):
    """Everything that can be wrong at once in rules that run."""

    name = "crooked"
    keys = {"KeyA": ("answer", "left")}

    @rule
    def observe(s, i, side, o):
        o[0, i] = 7.0 * float(s.bit[i])

    @rule
    def winner(s, i):
        return 1

    @rule
    def copycat(s, i, side):
        return 1 - s.bit[i]

    @rule
    def scene(s, i):
        if s.bit[i] == 1:
            circle(0.0, 0.0, 1.0, 0)
        box(0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0)


class Torn(CartPole):
    """Divides by zero, begins at its end, and its script takes an action that is none."""

    name = "torn"

    @rule
    def reset(s, i):
        s.x[i] = 3.0 * random(s, i)

    @rule
    def tick(s, i):
        s.swing[i] = s.angle[i] / (s.vx[i] - s.vx[i])

    @rule
    def observe(s, i, side, o):
        for k in range(4):
            o[k, i] = 0.5

    @rule
    def balancer(s, i, side):
        return 2


class Lopsided(Sumo):
    name = "lopsided"
    half_turn = Sumo.half_turn[1:]


class Drawn(Race):
    """`winner` as it is when its name is spelt otherwise."""

    name = "drawn"

    @rule
    def winner(s, i):
        return 0


class Lucky(Sumo):
    """Draws for what side 0 does, and not for what side 1 does."""

    name = "lucky"

    @rule
    def decide(s, i):
        if s.action[0, i] == 1:
            s.practice[i] = s.practice[i] + 0 * random_int(s, i, 2)


def stands_still(s, i):
    s.x[i] = 0.5


Still = drill_with(stands_still)


class Motley(Bandit):
    """A colour that follows the state."""

    name = "motley"

    @rule
    def scene(s, i):
        circle(0.0, 0.0, 1.0, 0)
        circle(0.5, 0.0, 1.0, 1 if s.bit[i] == 1 else 2)


class Shuffled(Bandit):
    """Two shapes in an order that follows the state."""

    name = "shuffled"

    @rule
    def scene(s, i):
        if s.bit[i] == 1:
            circle(0.0, 0.0, 1.0, 0)
        box(0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0)
        if s.bit[i] == 0:
            circle(0.0, 0.0, 1.0, 0)


class Namesake(Bandit):
    """Other rules under a name of the package's."""

    tick_rate = 30


class Green(Bandit):
    name = "green"
    palette = (*Bandit.palette, "green")


class Rare(Bandit):
    """Flags that random play never raises, as a one-hot has, and a range that is right."""

    name = "rare"
    observations = (Observation("lamp"), Observation("never"), Observation("always"))

    @rule
    def observe(s, i, side, o):
        o[0, i] = float(s.bit[i])
        o[1, i] = 1.0 if s.bit[i] == 7 else 0.0
        o[2, i] = 0.0 if s.bit[i] == 7 else 1.0


class Silent(Rare):
    """The same with a number that no rule computes."""

    name = "silent"

    @rule
    def observe(s, i, side, o):
        o[0, i] = float(s.bit[i])
        o[1, i] = 0.0
        o[2, i] = 1.0


class Stingy(Bandit):
    """One term that never pays; one that is off on purpose does not count."""

    name = "stingy"
    rewards = {"right": 1.0, "bonus": 0.5, "off": 0.0}

    @rule
    def bonus(s, i, side):
        return 1.0 if s.bit[i] == 7 else 0.0

    @rule
    def off(s, i, side):
        return 0.0


class Ageless(Stingy):
    """It ends after years."""

    name = "ageless"
    time_limit = 2_000_000_000


class Narrow(Bandit):
    """Leaves the range that it declares."""

    name = "narrow"
    observation_range = (0.0, 1.0)


BROKEN = [
    (
        Crooked,
        {
            "declaration": ("no key selects answer = 'right'", '"KeyX": ("answer", "right")'),
            "observations": ("'lamp' reached 7", "larger scale"),
            "ends": ("won before the end", "return 0 until"),
            "baselines": ("copycat earns 0", "sandbox"),
            "scene": ("draws 1 shapes, then 2", "alpha=0.0"),
        },
    ),
    (
        Torn,
        {
            "observations": ("'cart position' is always 0.5", "tells the policy nothing"),
            "finite": ("'swing' is not finite after 1 decisions", "division by zero"),
            "reset": ("already over when it begins", "`terminated` is false"),
            "baselines": ("balancer returned action 2", "0 to 1"),
        },
    ),
    (Still, {"declaration": ("nothing is rewarded", "rewards ="), "scene": ("nothing is drawn", "circle(")}),
]


@cache
def findings(drill):
    """What the whole suite says, by the names of the checks."""
    return {finding.name: finding for finding in suite(drill)}


@pytest.mark.parametrize("drill, wrong", BROKEN, ids=lambda value: getattr(value, "name", ""))
def test_broken_promises_are_found_and_told(drill, wrong):
    found = findings(drill)
    assert {name for name, finding in found.items() if finding.ok is False} == set(wrong)
    for name, (text, mend) in wrong.items():
        assert text in found[name].text and mend in found[name].mend


@pytest.mark.parametrize(
    "drill, name, text, mend",
    [
        (Motley, "scene", "the colour of shape 1, a circle, changes: ", "hide the others"),
        (Shuffled, "scene", "the shapes change their order: number 0 is a ", "in the same order"),
        (Namesake, "declaration", "a different drill called 'bandit'", "choose a different `name`"),
        (Drawn, "winners", "nobody wins: 256 matches of ", "write the rule `winner(s, i)`"),
        (Lopsided, "mirror", "side 0 and its mirror image see", "half_turn"),
        (Lucky, "mirror", "have called random() a different number of times", "depending on the side that caused it"),
        (Silent, "observations", "'never' is always 0", "tells the policy nothing"),
        (
            Stingy,
            "rewards",
            "the reward 'bonus' never pays anything: not in 256 episodes of random and copycat play",
            "look at its condition",
        ),
        (Narrow, "observations", "'lamp' was -1 to 1, outside observation_range", "clamp(value, 0, 1)"),
        (Green, "declaration", "no paint called 'green'", "turf, line"),
    ],
)
def test_each_finding_says_what_it_is(drill, name, text, mend):
    found = inspect(Subject(compile_drill(drill)), name)
    assert found.ok is False and text in found.text and mend in found.mend


@pytest.mark.parametrize(("drill", "name", "rule"), [(Stingy, "rewards", "bonus"), (Silent, "observations", "observe")])
def test_a_finding_names_the_line_of_its_rule(drill, name, rule):
    code = getattr(drill, rule).__code__
    found = inspect(Subject(compile_drill(drill), drill), name)
    assert found.where == f"{__file__}:{code.co_firstlineno}"


def test_an_episode_that_is_too_long_to_be_played_is_played_in_part(monkeypatch):
    """Nothing that may still come counts as missing."""
    monkeypatch.setattr(check_subject, "MOST_DECISIONS", 40)
    found = {finding.name: finding for finding in suite(Ageless)}
    assert not [finding for finding in found.values() if finding.ok is False]
    part = "in the first 40 decisions; `time_limit` allows 2,000,000,000, more than are played here"
    for name, said in (("ends", "64 of 64 episodes of random play do not end"), ("rewards", "'bonus' pays nothing")):
        assert found[name].ok is None and f"{said} {part}" in found[name].text


def test_what_is_not_there_is_not_checked():
    assert [name for name, finding in findings(Still).items() if finding.ok is None] == [
        "mirror",
        "winners",
        "rewards",
        "baselines",
    ]


def test_rules_that_do_not_translate_end_the_suite():
    class Endless(Bandit):
        name = "endless"

        @rule
        def tick(s, i):
            while True:
                pass

    (only,) = suite(Endless)
    assert not only.ok and "`while` is not in the rules language" in only.text


def test_the_command_line_checks_a_file(tmp_path):
    file = tmp_path / "mark.py"
    file.write_text(LESSON)
    said = process("check", file, expect=0).stdout
    assert "mark passes all checks" in said and len(said.splitlines()) == len(CHECKS) + 2
    file.write_text(LESSON.replace("o[1, i] = s.x[i]", "o[1, i] = s.x[i] * 3.0"))
    (report,) = json.loads(dshq("check", file, "--json", expect=1).stdout)["drills"]
    assert report["drill"] == "mark" and not report["ok"]
    assert [c["name"] for c in report["checks"]] == ["rules", *CHECKS]
    (wrong,) = [c for c in report["checks"] if c["ok"] is False]
    assert "'own place' reached 3" in wrong["text"] and "clamp(value" in wrong["mend"] and "mark.py:" in wrong["where"]
    file.write_text(LESSON.replace("o[1, i] = s.x[i]", "o[1, i] = s.xx[i]"))
    line = LESSON.splitlines().index("        o[1, i] = s.x[i]") + 1
    said = dshq("check", file, expect=1).stdout
    assert f"mark.py:{line}: in rule 'observe': the state has no field 'xx'" in said


@pytest.mark.parametrize(
    "source, text",
    [
        ("x = 1\n", "defines no drill"),
        ("def f(:\n", "wrong.py:1: SyntaxError"),
        ("import os\n\nprint(missing)\n", "wrong.py:3: NameError: name 'missing'"),
        ("import sys\n\nsys.exit(0)\n", "wrong.py:3: SystemExit: 0"),
    ],
)
def test_files_without_a_drill_say_why(tmp_path, source, text):
    file = tmp_path / "wrong.py"
    file.write_text(source)
    with pytest.raises(ValueError, match=text):
        classes(str(file))


def test_a_file_that_is_named_from_its_folder_has_its_lines_named_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text("import os\n\nprint(missing)\n")
    with pytest.raises(ValueError, match=r"^own\.py:3: NameError"):
        classes("own.py")
    Path("broken_words.py").write_text("\n\n\n\ndef f(:\n")
    Path("own.py").write_text("import sys\nsys.path.insert(0, '.')\nimport broken_words\n")
    monkeypatch.setattr("sys.path", [*sys.path])
    with pytest.raises(ValueError, match=r"^own\.py:3: SyntaxError"):
        classes("own.py")


def test_what_runs_is_the_text_that_a_person_can_read(tmp_path):
    """Python would run what `__pycache__` beside it says the text is, which nobody reads."""
    theirs, file = tmp_path / "theirs.py", tmp_path / "wrong.py"
    theirs.write_text("raise RuntimeError('theirs')\n")
    py_compile.compile(str(theirs), cache_from_source(str(file)), invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
    file.write_text("x = 1\n")
    with pytest.raises(ValueError, match="defines no drill"):
        classes(str(file))


def test_what_is_no_file_is_told():
    with pytest.raises(ValueError, match="expected a Python file with a Drill class or a drill's name, got 'sumoo'"):
        classes("sumoo")


def test_flags_that_are_rarely_raised_pass():
    found = inspect(Subject(compile_drill(Rare)), "observations")
    assert found.ok and "all changing but 'never', 'always'" in found.text
