"""What is kept of a match: policies saved and dropped in JupyterLab, films, and matches that play without a kernel."""

import os
import struct
import subprocess
import sys

import pytest

from dshq_widget import DrillWidget
from dshq_widget.policy import checkpoint
from dshq_widget.policy.loading import load_policy
from tests.browser.conftest import OpenNotebook, OpenPage
from tests.harness.browser.files import drop, saved
from tests.harness.browser.lab import LabServer
from tests.harness.browser.page import NotebookPage, WidgetPage
from tests.harness.browser.watching import begin

pytestmark = pytest.mark.browser

CELL = """
from dshq_widget import DrillWidget
w = DrillWidget(seed=3)
w
"""


def test_a_policy_is_saved_and_dropped(plain_chromium, open_page: OpenPage, tmp_path):
    _, widget = begin(open_page, plain_chromium, CELL)
    path = saved(widget, "save-policy", tmp_path)
    assert path.name == "ball-v0.dshq" and checkpoint.load(path).drill == "ball"

    gold = load_policy("ball:gold")
    with DrillWidget(policy="gold") as other:
        drop(widget, "gold.dshq", other.save(tmp_path / "gold.dshq").read_bytes())
    widget.wait_number("version", lambda version: version == gold.metadata["version"])
    widget.until(widget.root.inner_text, lambda text: "gold.dshq" in text, 60, "the sentence that says so")

    drop(widget, "evil.dshq", b"\x80\x04 no policy")
    widget.until(widget.root.inner_text, lambda text: "'evil.dshq' is not a usable" in text, 60, "the refusal")
    assert widget.number("version") == gold.metadata["version"]


def test_an_exported_match_plays_from_disk(plain_chromium, tmp_path):
    with DrillWidget(policy="gold", seed=3) as made:
        path = made.export_html(tmp_path / "match.html", train=False)
    context = plain_chromium.new_context(offline=True, viewport={"width": 900, "height": 900})
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(error.message))
    page.on("request", lambda request: request.url.startswith("http") and problems.append(request.url))
    page.goto(path.as_uri())
    widget = WidgetPage(page, page.locator(".dshq-widget"))
    widget.wait_number("tick", lambda tick: tick > 60)
    assert widget.attribute("version") == str(load_policy("ball:gold").metadata["version"])
    assert "needs a Python kernel" in widget.root.inner_text()
    widget.control("step")  # opens the Lab
    assert not widget.control("swap").is_visible(), "nothing trains here"

    widget.control("mode").select_option("human_vs_ai")
    board = widget.root.locator(".scoreboard")
    widget.until(board.inner_text, lambda text: "You" in text, 60, "the person's name")
    widget.control("pause").click()
    widget.wait_attribute("playing", lambda playing: playing == "false")
    widget.control("play").click()
    widget.wait_attribute("playing", lambda playing: playing == "true")

    assert saved(widget, "save-picture", tmp_path).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    gif = saved(widget, "save-gif", tmp_path).read_bytes()
    assert gif[:6] == b"GIF89a" and gif[-1:] == b";"
    width, height = struct.unpack("<HH", gif[6:10])
    assert width == 480 and 340 < height < 370, "the pitch and the caption below it"
    assert problems == []
    context.close()


@pytest.mark.slow
def test_an_embedded_match_plays_in_a_notebook_without_a_kernel(chromium, open_notebook: OpenNotebook):
    notebook = open_notebook(chromium, "from dshq_widget import DrillWidget\nDrillWidget(policy='gold').embed()")
    notebook.run_all()
    notebook.save()
    notebook.command("kernelmenu:shutdown")
    notebook.page.reload()
    frame = notebook.page.frame_locator(".jp-OutputArea-output iframe")
    widget = WidgetPage(notebook.page, frame.locator(".dshq-widget"))
    widget.root.wait_for(timeout=120_000)
    widget.wait_number("tick", lambda tick: tick > 60)


@pytest.mark.slow
def test_a_widget_saved_with_its_state_plays_without_its_kernel(chromium, lab: LabServer):
    """Executed elsewhere, with the state of its widgets in the file as ipywidgets saves it; nothing is run here."""
    lab.write_notebook("saved.ipynb", ["from dshq_widget import DrillWidget\nDrillWidget(policy='gold', seed=3)"])
    path = str(lab.work / "saved.ipynb")
    trusted = {**os.environ, "JUPYTER_DATA_DIR": str(lab.home / "data")}  # as whoever saved it trusts it
    for command in (["nbconvert", "--to", "notebook", "--execute", "--inplace", path], ["jupyter", "trust", path]):
        subprocess.run([sys.executable, "-m", *command], check=True, timeout=300, capture_output=True, env=trusted)
    notebook = NotebookPage(lab, chromium, "saved.ipynb")
    widget = notebook.widget(timeout=120)
    widget.wait_number("tick", lambda tick: tick > 60)
    assert widget.attribute("version") == str(load_policy("ball:gold").metadata["version"])
    widget.control("mode").select_option("human_vs_ai")
    board = widget.root.locator(".scoreboard")
    widget.until(board.inner_text, lambda text: "You" in text, 60, "the person's name")
    widget.wait_attribute("status", lambda status: status == "disconnected")
    assert notebook.console_errors == []
    notebook.close()


PLAYED = """async bytes => {
    const video = document.createElement("video");
    video.muted = true;
    const event = name => new Promise((resolve, reject) => {
        video.addEventListener(name, resolve, { once: true });
        video.addEventListener("error", () => reject(new Error(video.error.message)), { once: true });
    });
    const loaded = event("loadeddata");
    video.src = URL.createObjectURL(new Blob([new Uint8Array(bytes)], { type: "video/webm" }));
    await loaded;
    const { duration, videoWidth: width, videoHeight: height } = video;
    const sought = event("seeked");
    video.currentTime = 0.75 * duration;
    await sought;
    return { duration, width, height, at: video.currentTime };
}"""


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [2, 12])
def test_a_video_of_at_most_the_last_ten_seconds_while_the_match_goes_on(
    plain_chromium, open_page: OpenPage, tmp_path, seconds
):
    """An encoder in software takes four seconds for one of film."""
    cell = "from dshq_widget import DrillWidget; w = DrillWidget(policy='gold'); w"
    _, widget = begin(open_page, plain_chromium, cell)
    widget.wait_number("tick", lambda tick: tick > seconds * 120, 120)
    widget.control("share").click()
    told, before = [], widget.number("tick")
    with widget.page.expect_download(timeout=300_000) as download:
        widget.control("save-video").click()
        said = widget.root.locator(".share-menu .said")
        told.append(widget.until(said.inner_text, lambda text: "%" in text, 60, "how much of it is made"))
    assert widget.number("tick") > before, "the match continued"
    assert told[0].startswith("Making the video: ")
    download.value.save_as(tmp_path / "ball.webm")
    data = (tmp_path / "ball.webm").read_bytes()
    assert data[:4] == b"\x1a\x45\xdf\xa3" and b"webm" in data[:128]
    player = widget.page.context.new_page()  # the widget's page lets nothing play media: it only saves the film
    film = player.evaluate(PLAYED, list(data))
    player.close()
    assert 0.95 * min(seconds, 10) < film["duration"] < 10.5
    assert 0.6 < film["at"] / film["duration"] < 0.9, "it can be sought in"
    assert film["width"] == 720 and 500 < film["height"] < 550, "the pitch and the caption below it"
