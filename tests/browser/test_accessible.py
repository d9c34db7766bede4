"""What people who see or hear little meet: no violation that axe-core finds, in any tab and both themes."""

from pathlib import Path

import pytest

from tests.browser.conftest import SharedPage
from tests.harness.browser.page import WidgetPage

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
GOLD = "from dshq_widget import DrillWidget; w = DrillWidget('ball', policy='gold'); w"
RUN = """async root => {
    const { violations } = await axe.run(root, { resultTypes: ["violations"] });
    const said = (id, { html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary}`;
    return violations.flatMap(({ id, nodes }) => nodes.map(node => said(id, node)));
}"""


def violations(widget: WidgetPage) -> list[str]:
    found: list[str] = widget.root.evaluate(RUN)
    return found


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: make setup")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_that_axe_finds(shared_page: SharedPage, theme: str):
    opened, widget = shared_page(GOLD)
    opened.page.emulate_media(color_scheme=theme)
    widget.wait_attribute("theme", lambda now: now == theme)
    opened.page.evaluate(AXE.read_text())
    widget.control("pause").first.click()
    widget.control("why").click()
    beaten = "root => root.querySelectorAll('.target').forEach((target) => target.setAttribute('data-reached', ''))"
    widget.root.evaluate(beaten)  # as they look after some training
    found = []
    for status in ("training", "starting", "error"):
        widget.root.evaluate("(root, status) => void (root.querySelector('.pill').dataset.status = status)", status)
        found += [f"{status}: {problem}" for problem in violations(widget)]
    for tab in widget.tabs():
        widget.tab(tab)
        found += [f"{tab}: {problem}" for problem in violations(widget)]
    widget.control("share").click()
    found += violations(widget)
    assert not found, "\n".join(dict.fromkeys(found))


def test_the_score_is_said_on_request(shared_page: SharedPage):
    _, widget = shared_page(GOLD)
    widget.control("say-match").focus()
    widget.page.keyboard.press("Enter")
    said = widget.root.locator(".scoreboard [role=status]")
    assert "Blue, AI, 0; orange, AI, 0. Match time 0:0" in said.inner_text()
    assert "is nearest to the ball." in said.inner_text()
