"""An exported page under the headers of each host that docs/howto/host.md has a recipe for."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.harness.browser.console import Console
from tests.harness.browser.exported_page import train
from tests.harness.browser.hosts import headers, served
from tests.harness.browser.page import WidgetPage

pytestmark = [pytest.mark.browser, pytest.mark.slow]
HOSTS = headers()


def test_there_is_a_recipe_for_each():
    assert set(HOSTS) == {"nginx", "Vercel", "Cloudflare Pages", "GitHub Pages"}
    policies = {sent.get("Content-Security-Policy") for name, sent in HOSTS.items() if name != "GitHub Pages"}
    assert len(policies) == 1 and None not in policies, "one policy for all"


@pytest.mark.parametrize("name", HOSTS)
def test_a_page_plays_and_trains_there(plain_chromium: Browser, exported: Path, name: str):
    with served(exported.parent, HOSTS[name]) as address:
        context = plain_chromium.new_context()
        page, console = context.new_page(), Console()
        console.watch(page)
        answer = page.goto(f"{address}match.html")
        assert answer is not None
        assert {header.lower(): value for header, value in HOSTS[name].items()}.items() <= answer.headers.items()
        assert page.evaluate("isSecureContext"), "localhost is one, as https is"
        widget = WidgetPage(page, page.locator(".dshq-widget"))
        widget.wait_number("tick", lambda tick: tick > 30)
        train(widget, 2)
        context.close()
        assert console.problems == []


def test_a_narrower_policy_is_noticed(plain_chromium: Browser, exported: Path):
    """So the test above can fail."""
    with served(exported.parent, {"Content-Security-Policy": "default-src 'self' 'unsafe-inline'"}) as address:
        page, console = plain_chromium.new_page(), Console()
        console.watch(page)
        page.goto(f"{address}match.html")
        page.wait_for_timeout(3000)
        page.close()
        assert console.problems
