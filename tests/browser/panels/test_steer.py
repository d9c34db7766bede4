"""Steering from the page: the pace, updates by hand, and which panels stand there."""

import functools
import json

import pytest

from tests.browser.conftest import OpenPage, SharedPage
from tests.harness.browser.page import WidgetPage
from tests.harness.browser.watching import PLAIN, TRAINED, begin, stops, ticks_on

pytestmark = pytest.mark.browser

SMALL = "from dshq_widget import DrillWidget; w = DrillWidget(num_envs=64, minibatch_size=1024, workers=0); w"
STOPS = {"1 k": 0, "full": 7}  # of the dial


def turn(widget: WidgetPage, stop: str) -> None:
    widget.control("learning-pace").fill(str(STOPS[stop]))


def version(widget: WidgetPage) -> float:
    return widget.number("version")


@pytest.mark.slow
def test_the_pace_and_updates_by_hand(plain_chromium, open_page: OpenPage):
    notebook, widget = begin(open_page, plain_chromium, SMALL)
    pill = widget.root.locator(".pill")

    widget.control("next-update").click()  # the first update of all
    widget.wait_number("version", lambda now: now == 1, TRAINED)
    assert widget.attribute("status") == "training" and pill.inner_text() == "Learning paused"
    assert ticks_on(widget)
    assert version(widget) == 1, "it holds"
    widget.control("next-update").click()
    widget.wait_number("version", lambda now: now == 2)

    widget.control("pause-learning").click()
    widget.until(pill.inner_text, lambda text: text == "Training", 60, "Training")
    widget.wait_number("version", lambda now: now > 5, TRAINED)
    turn(widget, "1 k")
    pace = "print(w.config['values']['pace'])"
    widget.until(lambda: notebook.kernel.run(pace).strip(), lambda said: float(said) == 1000, 60, "the pace")
    assert widget.root.locator(".pace .help").inner_text() == "At most about one update every 3 seconds."
    learned = "import time; v = w._trainer.version; time.sleep(2); print(w._trainer.version - v)"
    widget.until(
        lambda: notebook.kernel.run(learned).strip(), lambda said: said == "0", 60, "a rest between two updates"
    )
    assert ticks_on(widget)
    slow = float(notebook.kernel.run("print(w._trainer.version)"))
    turn(widget, "full")
    widget.wait_number("version", lambda now: now > slow + 5, TRAINED)

    widget.control("pause-learning").click()
    widget.root.locator(".pill[data-paused]").wait_for()
    notebook.reload()
    again = notebook.widget()
    again.root.locator(".pill[data-paused]").wait_for()  # a reload keeps the pause
    stops(again)
    notebook.kernel.run("w.close()")


def test_controls_choose_the_panels_and_the_match_stands_in_the_middle(shared_page: SharedPage):
    notebook, widget = shared_page(PLAIN)
    notebook.run("w.controls = []")
    widget.until(widget.control("train").count, lambda count: count == 0, 60, "no Train")
    assert widget.control("train").count() == widget.control("play").count() == 0

    def askew() -> float:
        """Pixels by which the match's margins differ."""
        frame, match = widget.root.bounding_box(), widget.canvas.bounding_box()
        return abs(2 * (match["x"] - frame["x"]) + match["width"] - frame["width"])

    for width in (700, 1400, 2000):
        notebook.page.set_viewport_size({"width": width, "height": 1000})
        notebook.page.wait_for_timeout(200)
        widget.until(askew, lambda pixels: pixels < 24, 60, f"the match in the middle of a window of {width} px")
    notebook.run("w.controls = ['training', 'status']")
    widget.until(widget.control("train").count, lambda count: count == 1, 60, "Train")
    assert widget.control("play").count() == 0
    assert ticks_on(widget)
    notebook.run("w.controls = None")
    widget.until(widget.control("play").count, lambda count: count == 1, 60, "Play")
    with pytest.raises(RuntimeError, match="did you mean 'training'"):
        notebook.run("w.controls = ['trainig']")


@pytest.mark.slow
def test_presets_and_the_code_that_gives_the_same_settings(plain_chromium, open_page: OpenPage):
    def may_copy(context):
        context.grant_permissions(["clipboard-read", "clipboard-write"])

    notebook, widget = begin(open_page, plain_chromium, PLAIN, prepare=may_copy)
    presets = json.loads(notebook.kernel.run("import json; print(json.dumps(w.config['presets']))"))
    assert list(presets) == ["laptop", "classroom", "gpu"]
    widget.tab("settings")
    effects = widget.root.locator(".setting .effect").all_text_contents()
    assert len(effects) > 20 and all(text.endswith(("now", "next update", "next start")) for text in effects)
    for name in ("gpu", "laptop", "classroom"):
        widget.control("preset").select_option(name)
        for key, value in presets[name]["values"].items():
            shown = functools.partial(widget.control(key).input_value)
            widget.until(shown, lambda text, value=value: same(text, value), 60, f"{key} of {name}")
        assert widget.control("preset").input_value() == name
        assert presets[name]["help"] in widget.root.locator(".presets").inner_text()

    settings = {"learning_rate": "0.001", "hidden_sizes": "32, 32", "opponents": "self=0.5, random=0.5"}
    for key, typed in settings.items():
        widget.control(key).fill(typed)
        widget.control(key).press("Tab")
    widget.control("mode").select_option("sandbox")
    widget.control("opponent").select_option("gold")
    widget.control("speed").select_option("2")
    widget.control("copy-python").click()
    read = functools.partial(notebook.page.evaluate, "navigator.clipboard.readText()")
    code = widget.until(read, lambda text: "DrillWidget(" in text, 60, "the code")
    assert 'preset="classroom"' in code and 'opponent="gold"' in code and "num_envs" not in code
    notebook.kernel.run(f"again = get_ipython().run_cell({code!r}).result")
    values, show = json.loads(notebook.kernel.run("print(json.dumps([again.config['values'], again.show]))"))
    assert {key: values[key] for key in presets["classroom"]["values"]} == presets["classroom"]["values"]
    assert (values["learning_rate"], values["hidden_sizes"]) == (0.001, [32, 32])
    assert values["opponents"] == "self=0.5,random=0.5"
    assert show == json.loads(notebook.kernel.run("print(json.dumps(w.show))"))

    widget.control("train").click()  # with what was chosen here
    widget.wait_attribute("status", lambda status: status in ("starting", "training"), TRAINED)
    assert json.loads(notebook.kernel.run("print(json.dumps(w.config['values']))")) == values
    notebook.kernel.run("w.close(); again.close()")


def same(text: str, value: object) -> bool:
    """Whether a control shows the value of a setting."""
    return text == str(value) or (isinstance(value, (int, float)) and float(text or "nan") == value)
