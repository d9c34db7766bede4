"""What every drill of the registry promises: the suite of `dshq check`. A new drill needs no test here."""

from __future__ import annotations

import re
import shutil

import pytest

from dshq_widget import algorithms
from dshq_widget.algorithms.spo.settings import SpoSettings
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drill.declaration import Drill
from dshq_widget.drills import drills, get
from dshq_widget.env.check import CHECKS
from dshq_widget.env.check_subject import Impossible, Subject
from dshq_widget.training.trainer import Trainer


@pytest.fixture(scope="module", params=drills, ids=str)
def subject(request):
    return Subject(compile_drill(drills[request.param]))


@pytest.mark.parametrize("name", CHECKS)
def test_contract(subject, name):
    try:
        assert CHECKS[name](subject)
    except Impossible as reason:
        excused = {
            "mirror": not subject.spec.mirrored,
            "winners": subject.spec.sides == 1,
            "javascript": not shutil.which("node"),
        }
        assert excused.get(name), f"a built-in drill can be checked for this: {reason}"


@pytest.mark.parametrize("name", drills)
def test_suggested_settings_are_valid_and_may_be_overridden(name):
    spec = compile_drill(drills[name]).spec
    for each, own in spec.algorithm_settings.items():
        algorithm = algorithms.get(each)
        assert algorithm.suggested(spec) == own
        found = algorithm.read(own)
        assert all(getattr(found, key) == value for key, value in own.items())


def test_a_drill_suggests_settings_and_a_user_has_the_last_word():
    with Trainer("paddleball", algorithm="dreamer", dreamer={"repeat": 2}) as trainer:
        own = trainer.algorithm_settings
        assert own["repeat"] == 2 and own["reward_scale"] == 100, "the others are the drill's"
    with Trainer("approach", algorithm="spo") as other:
        assert other.algorithm_settings == SpoSettings().to_json()


def test_two_sides_are_mirrored_and_known_by_their_script():
    for drill in drills.values():
        assert drill.mirrored == (drill.sides == 2)
        assert drill.baselines and drill.__doc__


def test_help_describes_every_declaration():
    described = re.findall(r"^    (\w+) {2,}\S", Drill.__doc__ or "", re.MULTILINE)
    assert described == list(Drill.__annotations__)


@pytest.mark.parametrize("wrong, near", [("bal", "ball"), ("Ball", "ball"), ("xyz", None)])
def test_unknown_drill(wrong, near):
    with pytest.raises(ValueError, match=f"no drill called '{wrong}'.*Known drills: .*ball") as caught:
        get(wrong)
    assert (f"did you mean {near!r}" in str(caught.value)) == (near is not None)
