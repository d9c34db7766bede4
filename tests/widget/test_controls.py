"""Which panels `controls` may name, and what a widget tells the page for steering."""

import re

import pytest

from dshq_widget.contract import protocol
from dshq_widget.widget import page_protocol


def test_panels_come_in_the_order_of_the_page_and_none_is_all():
    assert page_protocol.controls(None) is None
    assert page_protocol.controls([]) == []
    assert page_protocol.controls(("hyper", "training", "hyper")) == ["training", "hyper"]
    assert page_protocol.controls(iter(protocol.PANELS)) == list(protocol.PANELS)


def test_a_tab_is_all_its_panels_and_a_panel_of_its_name_is_itself():
    assert page_protocol.controls(["settings", "learn"]) == ["seat", "headline", "charts", "log", "hyper"]
    assert page_protocol.controls(["mind"]) == ["mind"]
    assert page_protocol.controls(["learn"], offered=("charts", "hyper")) == ["charts"]


def test_every_tab_holds_panels_and_no_panel_stands_twice():
    held = [name for panels in protocol.TABS.values() for name in panels]
    assert len(held) == len(set(held)) and set(held) <= set(protocol.PANELS)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("training", "controls must be a list of panels such as ['transport', 'training'], got 'training'"),
        (7, "controls must be a list of panels"),
        (["trainig"], "did you mean 'training'?"),
        ([3], "each of controls must be one of 'training', "),
    ],
)
def test_what_is_no_panel_is_one_sentence(value, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        page_protocol.controls(value)


def test_settings_travel_as_a_person_would_type_them():
    typed = page_protocol.typed({"opponents": {"self": 0.75, "random": 0.25}, "hidden_sizes": [64], "pace": 0.0})
    assert typed == {"opponents": "self=0.75,random=0.25", "hidden_sizes": [64], "pace": 0.0}
    exact = {"reward_weights": {"goal": 0.123456789, "approach": 1 / 3}}
    assert page_protocol.typed(exact) == {"reward_weights": f"goal=0.123456789,approach={1 / 3}"}
    assert page_protocol.settings_in({"type": "NEXT_UPDATE", "epochs": 2}) == {"epochs": 2}
