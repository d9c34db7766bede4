"""An algorithm's settings on the page: which are shown, that a change reaches the learner, and the same in Python."""

import ast
from pathlib import Path

import pytest

from dshq_widget import algorithms
from dshq_widget.contract import sections, settings
from dshq_widget.training.any_drill import compiled
from dshq_widget.training.shown_settings import without_meaning
from tests.harness.browser.recorded_widget import bundle, make, until  # noqa: F401  # fixtures

ROOT = Path(algorithms.__file__).parent
SHARED = (ROOT.parent / "learning", ROOT.parent / "policy" / "network.py")
"""Parts of every run, which read settings for it."""
OWN = {name: each for name, each in algorithms.algorithms.items() if each.settings is not None}


def reads(*places: Path) -> set[str]:
    """The shared settings that the sources there take from a `config`."""
    found = set()
    for place in places:
        for path in place.rglob("*.py") if place.is_dir() else [place]:
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Attribute) and ast.unparse(node.value).rpartition(".")[2] == "config":
                    found.add(node.attr)
    return found & set(settings.FIELDS)


@pytest.mark.parametrize("name", OWN)
def test_the_settings_that_an_algorithm_uses_are_those_that_its_sources_read(name):
    declared, own = set(OWN[name].shared_settings), reads(ROOT / name)
    assert own <= declared, "the page must show these, too"
    assert declared - own <= reads(*SHARED), "nothing reads these"
    assert not declared & set(OWN[name].fixed), "nobody can choose these"


@pytest.mark.parametrize(("name", "drill"), [("spo", "maze"), ("gate", "territory"), ("dreamer", "approach")])
def test_the_page_gets_the_settings_of_the_algorithm(make, name, drill):  # noqa: F811
    widget = make(drill, algorithm=name)
    config = widget.config
    unused = without_meaning(compiled(drill).spec)
    assert list(config["schema"]) == [key for key in algorithms.get(name).shared_settings if key not in unused]
    own, kind = config["algorithm"], algorithms.get(name).settings
    assert own["name"] == name and list(own["schema"]) == list(own["values"]) == list(own["defaults"])
    assert own["schema"] == sections.schema(kind) and own["values"] == own["defaults"]
    assert config["values"] == config["defaults"], "what it starts from is not written as Python"
    assert all(set(preset["values"]) <= set(config["schema"]) for preset in config["presets"].values())
    assert ("gpu" in config["presets"]) == ("cuda" not in algorithms.get(name).refuses)


OF_ATARI_OR_TORCHRUN = {"fire_on_reset", "life_ends_episode", "frames", "joint"}


@pytest.mark.parametrize(
    ("drill", "absent"),
    [
        ("ball", {"action_distribution", "action_repeat"}),
        ("approach", {"action_distribution", "action_repeat", "opponents"}),
        ("gym:CartPole-v1", {"action_distribution", "opponents", "reward_weights", "scene_share"}),
        ("gym:Pendulum-v1", {"opponents", "reward_weights", "scene_share"}),
    ],
)
def test_the_page_shows_no_setting_that_changes_nothing_in_the_drill(make, drill, absent):  # noqa: F811
    config, absent = make(drill).config, absent | OF_ATARI_OR_TORCHRUN
    assert set(settings.FIELDS) - set(config["schema"]) == absent
    assert absent <= set(config["values"]), "their values are what Python has"


def test_every_live_setting_of_a_section_may_come_from_the_page(make):  # noqa: F811
    widget = make("territory")
    schema, values = widget.config["algorithm"]["schema"], widget.config["algorithm"]["values"]
    together = {"gate_weight": 0.4, "actual_weight": 0.6}  # they must add to 1
    widget.comm.say({"type": "SET_HYPER", "key": "gate", "value": together})
    until(lambda: together.items() <= widget.config["algorithm"]["values"].items())
    for key in schema.keys() - together.keys():
        value, entry = values[key], schema[key]
        if entry["choices"]:
            value = next(choice for choice in entry["choices"] if choice != value)
        elif entry["kind"] == "bool":
            value = not value
        else:
            value = min(value + 1, entry["max"]) if entry["kind"] == "int" else (value + entry["max"]) / 2
        widget.comm.say({"type": "SET_HYPER", "key": f"gate.{key}", "value": value})
        until(lambda key=key, value=value: widget.config["algorithm"]["values"][key] == value)


def test_a_change_on_the_page_reaches_the_learner_and_is_the_same_in_python(make):  # noqa: F811
    widget = make("bandit", algorithm="spo", num_envs=16, rollout_length=8, hidden_sizes=(8,))
    widget.comm.say({"type": "START_TRAINING", "spo.num_particles": 4, "spo.search_depth": 2})
    until(lambda: widget.history)
    widget.comm.say({"type": "SET_HYPER", "key": "spo.fixed_temperature", "value": 0.125})
    widget.comm.say({"type": "SET_HYPER", "key": "spo.adaptive_temperature", "value": False})
    until(lambda: widget.history[-1]["temperature"] == 0.125)
    widget.stop()
    section = {"num_particles": 4, "search_depth": 2, "fixed_temperature": 0.125, "adaptive_temperature": False}
    again = make("bandit", algorithm="spo", spo=section, num_envs=16, rollout_length=8, hidden_sizes=(8,))
    assert again.config == widget.config
