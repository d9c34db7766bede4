"""An exported page under the headers of each host that docs/howto/host.md has a recipe for."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Playwright

from tests.harness.browser.console import Console
from tests.harness.browser.exported_page import train
from tests.harness.browser.hosts import RECIPES, headers, served
from tests.harness.browser.page import WidgetPage, launch_chromium
from tests.harness.certificate import certify

pytestmark = [pytest.mark.browser, pytest.mark.slow]
HOSTS, NAME = headers(), "match.example"


def test_there_is_a_recipe_for_each():
    assert set(HOSTS) == {"nginx", "Vercel", "Cloudflare Pages", "GitHub Pages"}
    text = RECIPES.read_text(encoding="utf-8")
    assert "listen 443 ssl;" not in text or "ssl_certificate " in text, "without one nginx does not start"
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


@pytest.mark.parametrize("secure", [True, False], ids=["https", "http"])
def test_webgpu_needs_https_and_without_it_a_page_trains_all_the_same(
    playwright: Playwright, exported: Path, tmp_path: Path, secure: bool
):
    """At a name that is not localhost, in a Chromium that has WebGPU."""
    flags = [f"--host-resolver-rules=MAP {NAME} 127.0.0.1", certify(tmp_path, NAME)]
    browser = launch_chromium(playwright, True, *flags)
    with served(exported.parent, HOSTS["nginx"], tmp_path if secure else None) as address:
        page, console = browser.new_page(), Console()
        console.watch(page)
        page.goto(f"{address.replace('127.0.0.1', NAME)}match.html")
        assert page.evaluate("[isSecureContext, 'gpu' in navigator]") == [secure, secure]
        widget = WidgetPage(page, page.locator(".dshq-widget"))
        widget.wait_number("tick", lambda tick: tick > 30)
        assert secure or widget.attribute("renderer") == "canvas2d"
        train(widget, 2)
        browser.close()
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
