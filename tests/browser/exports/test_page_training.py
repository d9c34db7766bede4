"""Training in the page: an exported file without a server, a kernel that dies, `engine="page"`, and what is kept."""

import base64
import gzip
import os
import re
import signal
from pathlib import Path

import pytest

from dshq_widget import DrillWidget, Trainer
from dshq_widget.cli import main
from dshq_widget.policy import checkpoint
from tests.browser.conftest import OpenPage
from tests.harness.browser.exported_page import PATIENCE, Opened, train
from tests.harness.browser.files import drop, saved
from tests.harness.browser.page import WidgetPage
from tests.harness.browser.watching import begin, stops

pytestmark = pytest.mark.browser

CELL = """
from dshq_widget import DrillWidget
w = DrillWidget("approach", num_envs=64, workers=0, **{more!r})
w
"""


@pytest.mark.slow
def test_an_exported_page_trains_by_itself(plain_chromium, exported, tmp_path):
    opened = Opened(plain_chromium, exported)
    widget = opened.widget()
    assert widget.attribute("trainer") == "page" and widget.attribute("status") == "idle"
    train(widget, 3)
    widget.wait_attribute("agent-steps", lambda steps: int(steps or 0) > 0)

    widget.control("pause-learning").click()
    widget.root.locator(".pill[data-paused]").wait_for()
    widget.page.wait_for_timeout(2500)  # an update and a swap that were under way
    held = widget.number("version")
    widget.page.wait_for_timeout(1500)
    assert widget.number("version") == held
    widget.control("next-update").click()
    widget.wait_number("version", lambda version: version == held + 1)
    widget.control("pause-learning").click()
    widget.wait_number("version", lambda version: version > held + 1)

    running = checkpoint.load(saved(widget, "save-policy", tmp_path))
    assert running.drill == "approach" and running.version > held and "adam_m" in running.state
    stops(widget)
    path = saved(widget, "save-policy", tmp_path)
    kept = checkpoint.load(path)
    with Trainer(path, workers=0) as trainer:  # Python continues from there
        trainer.train_for(updates=2, progress=False)
        assert trainer.version == kept.version + 2
        trainer.save(tmp_path / "python.dshq")

    widget.page.reload()  # what the page learned is still in this browser
    widget = opened.widget()
    offer = widget.root.locator(".offer")
    offer.locator("[data-control=continue-kept]").click(timeout=60_000)
    widget.wait_number("version", lambda version: version == kept.version)
    assert not offer.is_visible()

    drop(widget, "python.dshq", (tmp_path / "python.dshq").read_bytes())
    widget.wait_number("version", lambda version: version == kept.version + 2)
    train(widget, 1)

    def runs() -> list[int]:
        return widget.page.evaluate(KEPT)

    def both(versions: list[int]) -> bool:
        return min(versions) == kept.version and max(versions) > kept.version + 2

    widget.until(runs, both, 60, "the run of the file, and the one before")

    widget.control("forget").click()
    widget.wait_attribute("status", lambda status: status == "idle")
    widget.wait_number("version", lambda version: version == 0)
    widget.until(runs, [kept.version].__eq__, 60, "the run before, which nobody has forgotten")
    widget.control("undo").click()
    widget.until(runs, both, 60, "the forgotten run, kept again")
    opened.close()


def test_wrong_files_and_settings_get_a_sentence(plain_chromium, exported):
    opened = Opened(plain_chromium, exported)
    widget = opened.widget()
    drop(widget, "evil.dshq", b"\x80\x04 no policy")
    widget.until(widget.root.inner_text, lambda text: "'evil.dshq' cannot be loaded" in text, 60, "the refusal")
    with DrillWidget("ball") as other:
        drop(widget, "ball.dshq", other._trainer.policy_file())
    widget.until(widget.root.inner_text, lambda text: "it plays ball, not approach" in text, 60, "the refusal")
    assert widget.number("version") == 0 and widget.attribute("status") == "idle"
    opened.close()


@pytest.mark.parametrize(
    "what", ["drill", *(pytest.param(name, marks=pytest.mark.slow) for name in ("learner", "policy"))]
)
def test_a_page_whose_parts_were_changed_says_so(plain_chromium, exported, tmp_path, what):
    text = exported.read_text(encoding="utf-8")
    if what == "policy":
        text = text.replace('"layers":[', '"layers":[3,')
    else:
        nothing = base64.b64encode(gzip.compress(b"")).decode()
        text, count = re.subn(rf'("{what}": {{"plain": ")[^"]*(", "relaxed": ")[^"]*', rf"\1{nothing}\2{nothing}", text)
        assert count == 1
    path = tmp_path / "changed.html"
    path.write_text(text, encoding="utf-8")
    context = plain_chromium.new_context(offline=True)
    page = context.new_page()
    page.goto(path.as_uri())
    widget = WidgetPage(page, page.locator(".dshq-widget"))
    widget.root.wait_for()
    widget.control("train").click()
    if what == "policy":  # a network that is not the settings' own: it begins untrained with the right one
        widget.wait_number("version", lambda version: version > 0, timeout=PATIENCE)
    else:
        widget.wait_attribute("status", lambda status: status == "error", timeout=PATIENCE)
        assert f"The {what}'s WebAssembly module in this page" in widget.root.inner_text()
    context.close()


@pytest.mark.slow
def test_leaving_the_page_ends_the_worker(plain_chromium, exported):
    opened = Opened(plain_chromium, exported)
    widget = opened.widget()
    train(widget, 1)
    assert sum("blob:" in worker.url for worker in opened.page.workers) >= 2  # the show and the trainer
    opened.page.goto("about:blank")
    widget.until(lambda: opened.page.workers, lambda workers: workers == [], 30, "no worker")
    opened.close()


@pytest.mark.slow
def test_a_trainer_that_stands_still_holds_up_no_decision(plain_chromium, exported):
    """In the middle of an update, for instance: the match goes on with the policy that it has."""
    opened = Opened(plain_chromium, exported)
    widget = opened.widget()
    train(widget, 2)
    trainer = next(one for one in opened.page.workers if one.evaluate("self.name") == "dshq-widget trainer")
    trainer.evaluate("void setTimeout(() => { for (const end = Date.now() + 600_000; Date.now() < end; ); })")
    opened.page.wait_for_timeout(2500)  # an update and a swap that were under way
    version, tick = widget.number("version"), widget.number("tick")
    widget.wait_number("tick", lambda now: now > tick + 600, timeout=120)
    assert widget.number("version") == version and widget.attribute("status") == "training"
    opened.context.close()


KEPT = """() => new Promise((resolve) => {
    const opening = indexedDB.open("dshq-widget", 1);
    opening.onsuccess = () => {
        if (!opening.result.objectStoreNames.contains("runs")) return resolve([]);
        const request = opening.result.transaction("runs").objectStore("runs").getAll();
        request.onsuccess = () => resolve(request.result.map(({ version }) => version));
    };
})"""


@pytest.mark.slow
def test_a_page_goes_on_without_its_kernel(plain_chromium, open_page: OpenPage, tmp_path: Path):
    page, widget = begin(open_page, plain_chromium, CELL.format(more={}))
    assert widget.attribute("trainer") == "kernel"
    train(widget, 2)
    widget.wait_attribute("trainer-ready", lambda ready: ready == "true", timeout=PATIENCE)
    process = int(page.kernel.run("import os; print(os.getpid())"))
    os.kill(process, signal.SIGKILL)
    widget.wait_attribute("status", lambda status: status == "disconnected")
    offer = widget.root.locator(".offer")
    with widget.page.expect_download(timeout=60_000) as download:
        offer.locator("[data-control=keep-policy]").click()
    download.value.save_as(tmp_path / "left.dshq")
    left = checkpoint.load(tmp_path / "left.dshq")
    assert left.drill == "approach" and left.version >= widget.number("version") >= 2
    widget.until(lambda: widget.page.evaluate(KEPT), [left.version].__eq__, 60, "the policy, kept for the next kernel")
    offer.locator("[data-control=train-in-page]").click()
    widget.wait_attribute("trainer", lambda trainer: trainer == "page")
    known = widget.number("version")
    assert known >= 2
    assert train(widget, 3) >= known + 3


@pytest.mark.slow
def test_python_trains_in_the_page_as_in_a_process(plain_chromium, open_page: OpenPage, tmp_path):
    page, widget = begin(open_page, plain_chromium, CELL.format(more={"engine": "page"}))
    assert widget.attribute("trainer") == "page"
    path = tmp_path / "learned.dshq"
    said = page.kernel.run(f"w.train(); print('reached', w.wait(updates=3)); w.save({str(path)!r})")
    assert "reached True" in said
    running = checkpoint.load(path)
    assert running.version >= 3 and "adam_m" in running.state
    assert main.main(["evaluate", str(path), "--matches", "64", "--json"]) == 0
    page.kernel.run("w.set_hyper(learning_rate=0.001)")
    widget.wait_number("version", lambda version: version >= 3)

    stops(widget)
    assert "stopped at version" in page.kernel.run("print(w.status_text)")
    version = train(widget, 1)
    widget.page.reload()
    widget = page.widget()
    widget.wait_attribute("status", lambda status: status == "error", timeout=60)
    assert "the page that trained was closed" in widget.root.inner_text()
    assert widget.number("version") >= version - 1
    train(widget, 2)


OWN = '''
from dshq_widget import Choice, Drill, DrillWidget, Observation, rule

class Lamp(Drill):
    """Say which of two lamps is lit."""

    name = "lamp_of_a_cell"
    sides = 1
    time_limit = 8
    action_repeat = 1
    state = {"lit": "i32", "right": "f32"}
    actions = (Choice("say", ("left", "right")),)
    observations = (Observation("lit"),)
    rewards = {"right": 1.0}

    @rule
    def reset(s, i):
        s.lit[i] = random_int(s, i, 2)

    @rule
    def tick(s, i):
        s.right[i] = 1.0 if s.action[0, i] == s.lit[i] else 0.0
        s.lit[i] = random_int(s, i, 2)

    @rule
    def observe(s, i, side, o):
        o[0, i] = float(s.lit[i])

    @rule
    def right(s, i, side):
        return s.right[i]

    @rule
    def scene(s, i):
        circle(0.0, 0.0, 0.2, 0)

w = DrillWidget(Lamp, num_envs=64)
w.export_html({path!r}, train=True)
w
'''


@pytest.mark.slow
def test_a_drill_of_a_cell_trains_in_its_page(plain_chromium, open_page: OpenPage, tmp_path):
    path = tmp_path / "lamp.html"
    begin(open_page, plain_chromium, OWN.replace("{path!r}", repr(str(path))))
    opened = Opened(plain_chromium, path)
    widget = opened.widget()
    train(widget, 2)
    widget.wait_number("return", lambda reward: reward > 7, timeout=PATIENCE)  # chance: 4 of 8
    opened.close()


@pytest.mark.slow
def test_a_network_that_judges_pairs_learns_in_its_page(plain_chromium, tmp_path):
    with DrillWidget("binpack", workers=0, num_envs=64) as made:
        path = made.export_html(tmp_path / "binpack.html", train=True)
    opened = Opened(plain_chromium, path)
    widget = opened.widget()
    train(widget, 2)
    widget.wait_number("return", lambda filled: filled > 0.7, timeout=PATIENCE)  # chance: .58
    stops(widget)
    with Trainer(saved(widget, "save-policy", tmp_path), workers=0) as trainer:  # Python continues from there
        version = trainer.version
        trainer.train_for(updates=1, progress=False)
        assert trainer.version == version + 1
    opened.close()


@pytest.mark.slow
def test_games_are_played_on_threads_of_their_own(plain_chromium, tmp_path):
    with DrillWidget("approach", workers=2, num_envs=64) as made:
        path = made.export_html(tmp_path / "threads.html", train=True)
    opened = Opened(plain_chromium, path)
    widget = opened.widget()
    train(widget, 3)
    widget.control("pause-learning")  # opens the Lab, which says where it trains
    assert "played on 2 more threads" in widget.root.inner_text()
    widget.wait_number("return", lambda reward: reward > 0.5, timeout=PATIENCE)
    stops(widget)
    widget.until(lambda: len(opened.page.workers), lambda count: count == 1, 30, "the show's worker alone")
    opened.close()


@pytest.mark.slow
def test_training_outlives_the_browsers_gpu_process(chromium, exported):
    opened = Opened(chromium, exported)
    widget = opened.widget()
    version = train(widget, 2)
    told = chromium.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    for process in (int(one["id"]) for one in told if one["type"] == "GPU"):
        os.kill(process, signal.SIGKILL)
    widget.wait_number("version", lambda now: now > version + 2, timeout=PATIENCE)
    assert widget.attribute("status") == "training"
    opened.context.close()
