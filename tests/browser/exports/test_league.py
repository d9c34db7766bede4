"""A published match of the class league plays in the page, and its final state has the published hash."""

from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy")

from dshq_widget.classroom import rounds
from dshq_widget.classroom.service.upload_checks import admit
from dshq_widget.classroom.store import Store
from dshq_widget.policy import ladder
from tests.harness.browser.page import WidgetPage
from tests.harness.class_league import Service, open_round, play_all

EVIL = "<img src=x onerror=alert(1)>"


@pytest.mark.browser
@pytest.mark.slow
def test_a_student_sends_a_policy_and_the_replay_agrees(chromium, tmp_path: Path):
    store = Store(f"sqlite:///{tmp_path}/league.db")
    number = open_round(store, anchors=["random", "chaser"])
    one = admit(ladder.path("ball", "silver").read_bytes())
    store.submit(number, EVIL, one.version, one.step, one.digest, one.content)
    token = store.issue_token("ada")
    with Service(store) as service:
        context = chromium.new_context(base_url=service.url, viewport={"width": 900, "height": 900})
        page = context.new_page()
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(error.message))
        page.on("console", lambda line: line.type in ("error", "warning") and problems.append(line.text))
        page.goto("/")
        page.get_by_label("Token from your instructor").fill(token)
        page.get_by_role("button", name="Log in").click()
        page.get_by_label("Policy file, .dshq").set_input_files(ladder.path("ball", "gold"))
        page.get_by_role("button", name="Send").click()
        page.get_by_role("status").filter(has_text="Received: version").wait_for()

        store.close_round(number, rounds.anchors_of("ball", ["chaser"]))
        play_all(store)
        page.get_by_role("link", name="Round 1").click()
        assert page.locator(".standings tbody tr").count() == 4
        assert EVIL in page.locator(".standings").inner_text() and page.locator("img").count() == 0
        page.get_by_role("link", name="ada against chaser").click()

        replay = WidgetPage(page, page.locator("#dshq"))
        replay.wait_attribute("verified", lambda verified: verified == "true")
        assert replay.attribute("sha256") in page.locator("main").inner_text()
        replay.wait_attribute("renderer", lambda renderer: renderer in ("webgpu", "canvas2d"))
        replay.wait_number("tick", lambda tick: tick > 30)
        replay.control("pause").click()
        replay.wait_attribute("playing", lambda playing: playing == "false")
        replay.control("time").fill("0")
        replay.wait_number("tick", lambda tick: tick <= 1)
        replay.control("play").click()
        replay.control("faster").click()
        replay.root.get_by_text("2 ×", exact=True).wait_for()
        end = float(replay.control("time").get_attribute("max"))
        replay.wait_number("tick", lambda tick: tick == end)
        page.set_viewport_size({"width": 390, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert problems == []
        context.close()
    store.close_connections()
