"""Steering from the page: the pace, updates by hand, and which panels stand there."""

import functools
import json

import pytest

from tests.browser.conftest import OpenPage
from tests.harness.browser.page import WidgetPage
from tests.harness.browser.watching import PLAIN, TRAINED, begin, ticks_on

pytestmark = pytest.mark.browser

SMALL = "from dshq_widget import DrillWidget; w = DrillWidget(num_envs=64, minibatch_size=1024, workers=0); w"
STOPS = {"1 k": 0, "full": 7}  # of the dial


def turn(widget: WidgetPage, stop: str) -> None:
    widget.control("Learning pace").fill(str(STOPS[stop]))


def version(widget: WidgetPage) -> float:
    return widget.number("version")


@pytest.mark.slow
def test_the_pace_and_updates_by_hand(plain_chromium, open_page: OpenPage):
    notebook, widget = begin(open_page, plain_chromium, SMALL)
    pill = widget.root.locator(".pill")

    widget.control("Next update").click()  # the first update of all
    widget.wait_number("version", lambda now: now == 1, TRAINED)
    assert widget.attribute("status") == "training" and pill.inner_text() == "Learning paused"
    assert ticks_on(widget)
    assert version(widget) == 1, "it holds"
    widget.control("Next update").click()
    widget.wait_number("version", lambda now: now == 2)

    widget.control("Resume learning").click()
    widget.until(pill.inner_text, lambda text: text == "Training", 60, "Training")
    widget.wait_number("version", lambda now: now > 5, TRAINED)
    turn(widget, "1 k")
    pace = "print(w.config['values']['pace'])"
    widget.until(lambda: notebook.kernel.run(pace).strip(), lambda said: float(said) == 1000, 60, "the pace")
    assert widget.root.locator(".pace .help").inner_text() == "At most about one update every 4 seconds."
    learned = "import time; v = w._trainer.version; time.sleep(2); print(w._trainer.version - v)"
    widget.until(
        lambda: notebook.kernel.run(learned).strip(), lambda said: said == "0", 60, "a rest between two updates"
    )
    assert ticks_on(widget)
    slow = float(notebook.kernel.run("print(w._trainer.version)"))
    turn(widget, "full")
    widget.wait_number("version", lambda now: now > slow + 5, TRAINED)

    widget.control("Pause learning").click()
    widget.until(lambda: widget.control("Resume learning").count(), lambda count: count == 1, 60, "paused")
    notebook.reload()
    again = notebook.widget()
    assert again.control("Resume learning").is_visible(), "a reload keeps the pause"
    again.control("Stop").click()
    again.wait_attribute("status", lambda status: status == "stopped")
    notebook.kernel.run("w.close()")


def test_controls_choose_the_panels_and_the_match_stands_in_the_middle(plain_chromium, open_page: OpenPage):
    cell = "from dshq_widget import DrillWidget; w = DrillWidget(controls=[]); w"
    notebook, widget = begin(open_page, plain_chromium, cell)
    assert widget.control("Train").count() == widget.control("Play").count() == 0

    def askew() -> float:
        """Pixels by which the match's margins differ."""
        frame, match = widget.root.bounding_box(), widget.canvas.bounding_box()
        return abs(2 * (match["x"] - frame["x"]) + match["width"] - frame["width"])

    for width in (700, 1400, 2000):
        notebook.page.set_viewport_size({"width": width, "height": 1000})
        notebook.page.wait_for_timeout(500)
        widget.until(askew, lambda pixels: pixels < 24, 60, f"the match in the middle of a window of {width} px")
    notebook.kernel.run("w.controls = ['training', 'status']")
    widget.until(widget.control("Train").count, lambda count: count == 1, 60, "Train")
    assert widget.control("Play").count() == 0
    assert ticks_on(widget)
    notebook.kernel.run("w.controls = None")
    widget.until(widget.control("Play").count, lambda count: count == 1, 60, "Play")
    with pytest.raises(RuntimeError, match="did you mean 'training'"):
        notebook.kernel.run("w.controls = ['trainig']")
    notebook.kernel.run("w.close()")


def test_everything_is_reached_by_keyboard(plain_chromium, open_page: OpenPage):
    notebook, widget = begin(open_page, plain_chromium, PLAIN)
    dial = widget.control("Learning pace")
    dial.focus()
    notebook.page.keyboard.press("ArrowLeft")
    told = functools.partial(dial.get_attribute, "aria-valuetext")
    widget.until(told, lambda text: "1M steps" in str(text), 60, "one stop less")
    names = ["Pause learning", "Next update", "Learning pace"]
    assert [name for name in names if widget.control(name).count() != 1] == []
    notebook.kernel.run("w.close()")


def test_presets_and_the_code_that_gives_the_same_settings(plain_chromium, open_page: OpenPage):
    def may_copy(context):
        context.grant_permissions(["clipboard-read", "clipboard-write"])

    notebook, widget = begin(open_page, plain_chromium, PLAIN, prepare=may_copy)
    presets = json.loads(notebook.kernel.run("import json; print(json.dumps(w.config['presets']))"))
    assert list(presets) == ["laptop", "classroom", "gpu"]
    widget.tab("Settings")
    effects = widget.root.locator(".setting .effect").all_text_contents()
    assert len(effects) > 20 and all(text.endswith(("now", "next update", "next start")) for text in effects)
    for name in ("gpu", "laptop", "classroom"):
        widget.control("Preset").select_option(name)
        for key, value in presets[name]["values"].items():
            shown = functools.partial(widget.control(key).input_value)
            widget.until(shown, lambda text, value=value: same(text, value), 60, f"{key} of {name}")
        assert widget.control("Preset").input_value() == name
        assert presets[name]["help"] in widget.root.locator(".presets").inner_text()

    settings = {"learning_rate": "0.001", "hidden_sizes": "32, 32", "opponents": "self=0.5, random=0.5"}
    for key, typed in settings.items():
        widget.control(key).fill(typed)
        widget.control(key).press("Tab")
    widget.control("Mode").select_option("sandbox")
    widget.control("Opponent").select_option("gold")
    widget.control("Speed").select_option("2")
    widget.control("Copy as Python").click()
    read = functools.partial(notebook.page.evaluate, "navigator.clipboard.readText()")
    code = widget.until(read, lambda text: "DrillWidget(" in text, 60, "the code")
    assert 'preset="classroom"' in code and 'opponent="gold"' in code and "num_envs" not in code
    notebook.kernel.run(f"again = get_ipython().run_cell({code!r}).result")
    values, show = json.loads(notebook.kernel.run("print(json.dumps([again.config['values'], again.show]))"))
    assert {key: values[key] for key in presets["classroom"]["values"]} == presets["classroom"]["values"]
    assert (values["learning_rate"], values["hidden_sizes"]) == (0.001, [32, 32])
    assert values["opponents"] == "self=0.5,random=0.5"
    assert show == json.loads(notebook.kernel.run("print(json.dumps(w.show))"))

    widget.control("Train").click()  # with what was chosen here
    widget.wait_attribute("status", lambda status: status == "training", TRAINED)
    assert json.loads(notebook.kernel.run("print(json.dumps(w.config['values']))")) == values
    notebook.kernel.run("w.close(); again.close()")


@pytest.mark.slow
def test_the_settings_of_an_algorithm_reach_the_learner_and_are_the_same_in_python(plain_chromium, open_page: OpenPage):
    def may_copy(context):
        context.grant_permissions(["clipboard-read", "clipboard-write"])

    cell = """
from dshq_widget import DrillWidget
w = DrillWidget("bandit", algorithm="spo", num_envs=16, rollout_length=8, hidden_sizes=(8,))
w
"""
    notebook, widget = begin(open_page, plain_chromium, cell, prepare=may_copy)
    widget.tab("Settings")
    assert widget.control("epochs").count() == 0, "spo has none"
    widget.control("spo.num_particles").fill("4")
    widget.control("spo.num_particles").press("Tab")
    widget.control("Train").click()
    widget.wait_attribute("status", lambda status: status == "training", TRAINED)
    widget.control("spo.fixed_temperature").fill("0.125")
    widget.control("spo.fixed_temperature").press("Tab")
    widget.control("spo.adaptive_temperature").uncheck()
    metric = "print(w.history[-1].get('temperature') if w.history else None)"
    widget.until(lambda: notebook.kernel.run(metric).strip(), lambda text: text == "0.125", TRAINED, "the temperature")
    widget.control("Stop").click()
    widget.control("Copy as Python").click()
    read = functools.partial(notebook.page.evaluate, "navigator.clipboard.readText()")
    code = widget.until(read, lambda text: "DrillWidget(" in text, 60, "the code")
    assert 'algorithm="spo"' in code and "search_depth" not in code
    notebook.kernel.run(f"again = get_ipython().run_cell({code!r}).result")
    assert notebook.kernel.run("print(again.config == w.config)").strip() == "True"
    notebook.kernel.run("w.close(); again.close()")


def same(text: str, value: object) -> bool:
    """Whether a control shows the value of a setting."""
    return text == str(value) or (isinstance(value, (int, float)) and float(text or "nan") == value)
