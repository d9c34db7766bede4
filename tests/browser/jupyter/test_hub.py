"""A class on the hub of `make hub`: students at half a processor each, and what one of them does not do to another."""

import os
import signal
import time
import urllib.error
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Playwright

pytest.importorskip("sqlalchemy")
pytest.importorskip("jupyterhub", reason="pip install 'dshq-widget[hub]'")

from dshq_widget.classroom import rounds
from dshq_widget.classroom.hub.demo import Hub
from dshq_widget.classroom.hub.share import Share
from dshq_widget.classroom.store import FINISHED, Store
from tests.harness.browser.hub import ARGUMENTS, HubServer
from tests.harness.browser.lab import LAB_KERNEL
from tests.harness.browser.page import NotebookPage, WidgetPage, launch_chromium
from tests.harness.browser.watching import TRAINED
from tests.harness.hub import proxy_or_skip
from tests.harness.process_tree import groups_of, processes_of

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CELL = "from dshq_widget import DrillWidget; w = DrillWidget(seed={seed}); w"
CLEARLY = 0.8  # of decided matches against random play
BEST = "print(max([row.get('win_rate_random', 0) for row in w.history], default=0))"
PICTURES = Path(os.environ["DSHQ_PICTURES"]) if "DSHQ_PICTURES" in os.environ else None


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    proxy_or_skip()
    with Hub(tmp_path_factory.mktemp("hub"), cpu=0.5, arguments=ARGUMENTS) as running:
        yield running


def picture(widget: WidgetPage, name: str) -> None:
    if PICTURES:
        widget.screenshot(PICTURES / f"hub-{name}.png")


def test_two_students_train_and_one_of_them_loses_everything(hub: Hub, playwright: Playwright):
    """Without WebGPU, which is software here, and would take the processors that the students share."""
    ada, ben = HubServer(hub, "ada"), HubServer(hub, "ben")
    browsers = [launch_chromium(playwright, webgpu=False) for _ in range(2)]
    pages = {
        student.name: student.open(browser, CELL.format(seed=seed))
        for seed, (student, browser) in enumerate(zip((ada, ben), browsers, strict=True))
    }
    widgets = {}
    for name, page in pages.items():
        page.run_all()
        widgets[name] = page.widget()
        assert float(page.kernel.run("from dshq_widget.runtime.budget import cpu_budget; print(cpu_budget())")) == 0.5
    for widget in widgets.values():
        assert widget.root.get_by_label("Training time left").inner_text() == "30:00"
        widget.control("train").click()
    for name, widget in widgets.items():
        widget.wait_attribute("status", lambda status: status == "training", TRAINED)
        assert pages[name].kernel.run("print(w._trainer.workers)") == "0\n"
    began, frames = time.monotonic(), []
    for name, page in pages.items():

        def best(page: NotebookPage = page, widget: WidgetPage = widgets[name]) -> float:
            frames.append(widget.number("fps"))
            return float(page.kernel.run(BEST))

        widgets[name].until(best, lambda won: won > CLEARLY, TRAINED, "a policy that beats random play")
    print(f"both beat random play {time.monotonic() - began:.0f} s after both trained; frames/s {sorted(frames)}")
    assert all(widget.root.get_by_label("Training time left").inner_text() != "30:00" for widget in widgets.values())
    picture(widgets["ben"], "training")

    # Ada's kernel is killed after its autosave; the page says so, and a new kernel offers the run.
    kernel = int(pages["ada"].kernel.run("import os; print(os.getpid())"))
    saved = ada.home / ".local/share/dshq/runs/ball"
    widgets["ada"].until(lambda: list(saved.glob("*/autosave.dshq")), bool, 120, "an autosave")
    learners = psutil.Process(kernel).children(recursive=True)
    pages["ada"].kernel.close()
    os.kill(kernel, signal.SIGKILL)
    widgets["ada"].wait_attribute("status", lambda status: status == "disconnected")
    _, alive = psutil.wait_procs(learners, timeout=60)
    assert learners and alive == []
    hers = pages["ada"].page
    hers.get_by_role("dialog").filter(has_text="appears to have died").get_by_role("button", name="Ok").click()
    hers.wait_for_function(f"{LAB_KERNEL}.status === 'idle'", timeout=120_000)
    pages["ada"].run_all()
    widget = pages["ada"].widget()
    resume = widget.control("resume-run")
    resume.wait_for(timeout=60_000)
    assert resume.inner_text().startswith("Resume run from ")
    picture(widget, "resume")
    version = int(widget.root.locator(".before .caption").inner_text().split()[1].rstrip(","))
    resume.click()
    widget.wait_number("version", lambda now: now > version > 0, TRAINED)

    # Her server is culled, which is this call of the hub's interface.
    before = widgets["ben"].number("version")
    probe = Share("probe", 0.5)
    assert (probe.kind == "quota") == bool(groups_of("ada"))
    probe.close()
    hub.ask("DELETE", "/users/ada/server")
    widgets["ben"].until(lambda: processes_of("ada"), lambda left: not left, 60, "the end of ada's processes")
    widgets["ben"].until(lambda: groups_of("ada"), lambda groups: not groups, 60, "the end of ada's control groups")

    # Ben noticed nothing.
    assert widgets["ben"].wait_number("version", lambda now: now > before, TRAINED)
    assert widgets["ben"].attribute("status") == "training" and pages["ben"].console_errors == []
    assert processes_of("ben")
    pages["ben"].close()
    hub.ask("DELETE", "/users/ben/server")
    for browser in browsers:
        browser.close()


def test_a_third_student_submits_and_wins(hub: Hub, plain_chromium):
    store = Store(f"sqlite:///{hub.folder}/league.db")
    drill = rounds.drill_of("ball")
    number = store.open_round("Friday", "ball", drill.rules_hash, ["random", "chaser"], 1, True)
    cleo = HubServer(hub, "cleo")
    notebook = cleo.open(plain_chromium, "from dshq_widget import DrillWidget; w = DrillWidget(policy='gold'); w")
    notebook.run_all()
    widget = notebook.widget()
    widget.control("submit").click()
    answer = widget.root.locator(".seat .answer")
    widget.until(answer.inner_text, lambda text: "plays in 'Friday'" in text, 60, "the league's answer")
    picture(widget, "submitted")
    assert store.received(number) == {"cleo": 1}
    store.close_round(number, rounds.anchors_of("ball", ["random", "chaser"]))
    widget.until(lambda: store.round(number).state, lambda state: state == FINISHED, 300, "the round's end")

    page = notebook.context.new_page()
    page.goto(f"{hub.url}/services/league/round/{number}")
    assert "cleo" in page.locator(".standings tbody tr").first.inner_text()
    page.get_by_role("link", name="cleo against chaser").click()
    replay = WidgetPage(page, page.locator("#dshq"))
    replay.wait_attribute("verified", lambda verified: verified == "true")
    assert replay.attribute("sha256") in page.locator("main").inner_text()
    assert notebook.console_errors == []
    notebook.context.close()
    store.close_connections()
    hub.ask("DELETE", "/users/cleo/server")


def test_who_is_not_in_the_class_gets_no_server(hub: Hub, plain_chromium):
    context = plain_chromium.new_context()
    page = context.new_page()
    for name in ("mallory", "prof"):  # with a student's password
        page.goto(f"{hub.url}/hub/login")
        page.locator("#username_input").fill(name)
        page.locator("#password_input").fill(hub.passwords["ada"])
        page.locator("#login_submit").click()
        page.get_by_text("Invalid username or password").wait_for()
    context.close()
    with pytest.raises(urllib.error.HTTPError):
        hub.ask("GET", "/users/mallory")
