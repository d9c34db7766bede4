"""An algorithm's own settings: strict reading, and errors that name the nearest key."""

import dataclasses
import re
from typing import ClassVar

import pytest

from dshq_widget.contract import sections
from dshq_widget.contract.setting import NEXT_UPDATE, RESTART, ConfigError, docs, setting


@dataclasses.dataclass(frozen=True)
class Toy(sections.Section):
    """Settings of a toy algorithm."""

    ALIASES: ClassVar = {"num_particles": "particles"}

    particles: int = setting(16, "int", "Particles", RESTART, "toy", unit="particles", lo=1, hi=64)
    """Number of particles."""
    floor: float = setting(0.1, "float", "Floor", NEXT_UPDATE, "toy", unit="share", lo=0.0, hi=1.0)
    """Smallest share that
    is kept.
    """


def test_layers_aliases_and_json():
    read = sections.read(Toy, "toy", {"floor": "0.2", "num-particles": 4}, None, {"particles": "8"})
    assert read == Toy(particles=8, floor=0.2)
    assert sections.read(Toy, "toy", read.to_json()) == read and sections.read(Toy, "toy") == Toy()
    assert sections.fields(Toy)["floor"]["unit"] == "share"
    assert docs(Toy)["floor"] == "Smallest share that is kept."


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"flor": 1}, "unknown setting 'flor' in section toy; did you mean 'floor'?"),
        ({"xyz": 1}, "unknown setting 'xyz' in section toy; its settings are particles, floor"),
        ({"floor": 2}, "toy.floor must be a number from 0 to 1 share, got 2"),
        ({"particles": 3, "num_particles": 4}, "particles is given twice in section toy"),
    ],
)
def test_errors_name_the_section_and_the_nearest_key(given, sentence):
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        sections.read(Toy, "toy", given)


def test_constructing_directly_checks_too():
    with pytest.raises(ConfigError, match="floor"):
        Toy(floor=-1)
