"""A hub that gives each server a host of its own: a class works on it, and a student's page does nothing in the name of
the instructor who opens it. On one host for all it does; docs/classroom/league.md and SECURITY.md say what.
"""

import json
import re
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright

pytest.importorskip("sqlalchemy")
pytest.importorskip("jupyterhub", reason="pip install 'dshq-widget[hub]'")

from dshq_widget.classroom.hub.demo import INSTRUCTOR, Hub
from dshq_widget.classroom.store import FINISHED, Store
from tests.harness.browser import hostile_student
from tests.harness.browser.hub import ARGUMENTS, HubServer
from tests.harness.browser.page import WidgetPage, launch_chromium
from tests.harness.browser.watching import SMALL, TRAINED
from tests.harness.https_front import HttpsFront
from tests.harness.hub import proxy_or_skip, start
from tests.harness.ports import free_port

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HOST, STUDENT = "hub.localhost", "ada"
FORGED, STOLEN = "forged", "stolen"
"""What a hostile page calls a round that it opens, and a token that it makes."""
SECRET = 'name="_xsrf"'
"""Stands on each page of the league that has a form, before its token."""
HUB_SECRET = "xsrf_token"
"""The same of the hub's pages."""
FETCH = """async ([url, how]) => {
    try {
        const answer = await fetch(url, {credentials: "include", ...how});
        return `${answer.status} ${await answer.text()}`;
    } catch (error) {
        return String(error);
    }
}"""
FORM = """([url, fields]) => {
    const form = document.createElement("form");
    [form.method, form.action] = ["post", url];
    for (const [name, value] of Object.entries(fields)) {
        const field = document.createElement("input");
        [field.name, field.value] = [name, value];
        form.append(field);
    }
    document.body.append(form);
    form.submit();
}"""
READ = """async () => {
    for (let tries = 0; tries < 50; tries++) {
        await new Promise(done => setTimeout(done, 100));
        try {
            const page = held().document.documentElement.outerHTML;
            if (page.includes("</main>") || page.includes("jhdata")) return page;
        } catch (error) {
            return String(error);
        }
    }
    return "nothing";
}"""
WINDOW = f"url => {{ const opened = window.open(url); const held = () => opened; return ({READ})(); }}"
FRAME = f"""url => {{
    const frame = document.createElement("iframe");
    frame.src = url;
    document.body.append(frame);
    const held = () => frame.contentWindow;
    return ({READ})();
}}"""
OPEN = {"drill": "ball", "title": FORGED, "blocks": "1", "anchor": "random"}
WORK = "navigator.serviceWorker.register('worker.js', {scope: '/'}).then(() => navigator.serviceWorker.ready)"


def token(secret: str) -> dict[str, Any]:
    """How a page asks the hub for a token; `secret` is what stands on the hub's own pages."""
    headers = {"Content-Type": "application/json", "X-XSRFToken": secret}
    return {"method": "POST", "headers": headers, "body": json.dumps({"note": STOLEN})}


def refused(page: Page, url: str, secret: str) -> None:
    """Send a form that opens a round from a hostile page, as its visitor; the league must say no."""
    with page.expect_navigation() as sent:
        page.evaluate(FORM, [url, {**OPEN, "_xsrf": secret}])
    assert sent.value.status == 403


class Class:
    """A hub on which a student's server serves hostile pages, and what they have changed."""

    def __init__(self, hub: Hub, browser: Browser) -> None:
        self.hub, self.browser = hub, browser
        self.store = Store(f"sqlite:///{hub.folder}/league.db")
        hostile_student.write(hub.folder / "home" / STUDENT)
        start(hub, STUDENT)

    def logged_in(self, name: str) -> BrowserContext:
        """A browser of somebody's own who is logged in at the hub and at the league."""
        context = self.browser.new_context()
        HubServer(self.hub, name).log_in(context)
        page = context.new_page()
        page.goto(f"{self.hub.league}/")
        assert self.shown_to(page) == name
        page.close()
        return context

    @staticmethod
    def shown_to(page: Page) -> str:
        """For whom the league takes whoever looks at this page of it."""
        return page.locator("header nav a").first.inner_text()

    def hostile_page(self, context: BrowserContext, *cookies: str) -> Page:
        """The student's page, opened in somebody's browser; it sets these cookies."""
        page = context.new_page()
        query = urlencode({"cookie": cookies}, doseq=True)
        page.goto(f"{self.hub.home_of(STUDENT)}/{hostile_student.PLACE}/page?{query}")
        assert page.title() == "Look at my bot"
        return page

    def told(self) -> str:
        """What the hostile pages have told the student's server."""
        page = self.browser.new_page()
        page.goto(f"{self.hub.home_of(STUDENT)}/{hostile_student.PLACE}/told")
        text = page.content()
        page.context.close()
        return text

    def done(self) -> list[str]:
        """What was done in the instructor's name and was not meant to be."""
        rounds = [row.title for row in self.store.rounds() if row.title == FORGED]
        tokens = self.hub.ask("GET", f"/users/{INSTRUCTOR}/tokens")["api_tokens"]
        return rounds + [token["note"] for token in tokens if STOLEN in token["note"]]

    def planted(self, student: BrowserContext) -> list[str]:
        """Each cookie of the student's own logins, to be set for the hub's whole domain where it has one."""
        domain = f"; Domain={HOST}" if HOST in self.hub.url else ""
        places = {"": "/", "service-league": "/services/league/", "jupyterhub-hub-login": "/hub/"}
        cookies = []
        for cookie in student.cookies():
            own = cookie["name"].removeprefix("__Host-")
            place = next(path for name, path in reversed(places.items()) if own.startswith(name))
            for name in {own, cookie["name"]}:
                secure = "; Secure" if name != own else ""
                cookies += [f"{name}={cookie['value']}{domain}; Path={path}{secure}" for path in {place, "/"}]
        return cookies


@contextmanager
def running(playwright: Playwright, folder: Path, port: int = 0, host: str = "", *flags: str) -> Iterator[Class]:
    browser = launch_chromium(playwright, False, *flags)
    with Hub(folder / "hub", port=port, subdomain_host=host, arguments=ARGUMENTS) as hub:
        found = Class(hub, browser)
        yield found
        found.store.close_connections()
    browser.close()


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory, playwright: Playwright) -> Iterator[Class]:
    """Each server has a host of its own, and browsers come by https, as the documents ask for it."""
    proxy_or_skip()
    folder = tmp_path_factory.mktemp("apart")
    front = HttpsFront(folder, HOST)
    with front, running(playwright, folder, front.inner, front.url, front.trusted) as found:
        yield found


@pytest.fixture(scope="module")
def in_the_clear(tmp_path_factory: pytest.TempPathFactory, playwright: Playwright) -> Iterator[Class]:
    """The same by http."""
    proxy_or_skip()
    port = free_port()
    with running(playwright, tmp_path_factory.mktemp("clear"), port, f"http://{HOST}:{port}") as found:
        yield found


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory, playwright: Playwright) -> Iterator[Class]:
    """One host for the hub, the league and all servers."""
    proxy_or_skip()
    with running(playwright, tmp_path_factory.mktemp("together")) as found:
        yield found


def test_a_class_trains_submits_and_is_rated(apart: Class):
    hub = apart.hub
    assert len({urlsplit(url).netloc for url in (hub.url, hub.league, hub.home_of("ben"), hub.home_of("ada"))}) == 4
    prof = apart.logged_in(INSTRUCTOR).new_page()
    prof.goto(f"{hub.league}/teach")
    form = prof.locator("form", has=prof.locator("[name=drill][value=ball]"))
    form.get_by_label("Title").fill("Friday")
    form.get_by_label("Blocks per pair").fill("1")
    for anchor in form.locator("[name=anchor]:enabled").all():
        anchor.uncheck()
    form.get_by_role("button", name="Open").click()
    prof.wait_for_url("**/services/league/round/*")
    (opened,) = [row for row in apart.store.rounds() if row.title == "Friday"]

    notebook = HubServer(hub, "ben").open(apart.browser, SMALL)
    assert urlsplit(notebook.page.url).netloc == urlsplit(hub.home_of("ben")).netloc
    notebook.run_all()
    widget = notebook.widget()
    widget.control("train").click()
    widget.wait_number("version", lambda version: version > 0, TRAINED)
    widget.control("submit").click()
    answer = widget.root.locator(".seat .answer")
    widget.until(answer.inner_text, lambda text: "plays in 'Friday'" in text, 60, "the league's answer")
    assert apart.store.received(opened.id) == {"ben": 1}

    notebook.kernel.run("w.stop(); w.save('bot.dshq')")
    league = notebook.context.new_page()
    league.goto(f"{hub.league}/")
    league.get_by_label("Policy file").set_input_files(notebook.lab.work / "bot.dshq")
    league.get_by_role("button", name="Send").click()
    league.get_by_text("plays in 'Friday'").wait_for()
    assert apart.store.received(opened.id) == {"ben": 2}

    prof.get_by_role("button", name="Close and play the round").click()
    widget.until(lambda: apart.store.round(opened.id).state, lambda state: state == FINISHED, 300, "the round's end")
    league.goto(f"{hub.league}/round/{opened.id}")
    league.get_by_role("link", name="ben against random").click()
    replay = WidgetPage(league, league.locator("#dshq"))
    replay.wait_attribute("verified", lambda verified: verified == "true")
    assert notebook.console_errors == []
    notebook.close()
    prof.context.close()
    hub.ask("DELETE", "/users/ben/server")


@pytest.fixture(params=["apart", "in_the_clear"])
def hosts(request: pytest.FixtureRequest) -> Class:
    """A class whose servers have hosts of their own."""
    return request.getfixturevalue(request.param)


def test_a_page_on_a_host_of_its_own_reads_and_does_nothing(hosts: Class):
    hub = hosts.hub
    prof = hosts.logged_in(INSTRUCTOR)
    page = hosts.hostile_page(prof)
    places = [f"{hub.league}/", f"{hub.league}/teach", f"{hub.url}/hub/token", f"{hub.url}/hub/api/user"]
    for url in [*places, f"{hub.home_of(INSTRUCTOR)}/api/contents"]:
        assert page.evaluate(FETCH, [url, {}]).startswith("TypeError"), url
    for url in places[1:3]:
        for held in (WINDOW, FRAME):
            said = page.evaluate(held, url)
            assert SECRET not in said and HUB_SECRET not in said, (url, said)
    tokens = f"{hub.url}/hub/api/users/{INSTRUCTOR}/tokens"
    page.evaluate(FETCH, [tokens, token("")])
    page.evaluate(FETCH, [tokens, {**token(""), "mode": "no-cors", "headers": {}}])
    form = {"method": "POST", "mode": "no-cors", "headers": {"Content-Type": "application/x-www-form-urlencoded"}}
    page.evaluate(FETCH, [f"{hub.league}/teach/open", {**form, "body": urlencode(OPEN)}])
    evil = [f"_xsrf=evil; Domain={HOST}; Path={path}" for path in ("/", "/services/league/", "/hub/")]
    page = hosts.hostile_page(prof, *evil)
    assert "_xsrf=evil" in page.evaluate("document.cookie")
    refused(page, f"{hub.league}/teach/open", "evil")
    assert hosts.done() == []
    prof.close()


def test_a_worker_on_a_host_of_its_own_sees_nothing(hosts: Class):
    prof = hosts.logged_in(INSTRUCTOR)
    page = hosts.hostile_page(prof)
    page.evaluate(WORK)
    page.goto(f"{hosts.hub.league}/teach")
    assert page.title() == "Teach" and SECRET in page.content()
    assert SECRET not in hosts.told()
    prof.close()


def test_no_cookie_of_a_student_logs_the_instructor_in_as_the_student(apart: Class):
    """Every host of a domain may set cookies for all of it; a file that the instructor sends would be the student's."""
    hub = apart.hub
    student, prof = apart.logged_in(STUDENT), apart.logged_in(INSTRUCTOR)
    page = apart.hostile_page(prof, *apart.planted(student))
    there = {cookie["name"] for cookie in prof.cookies() if cookie["domain"] == f".{HOST}"}
    assert {"service-league", "jupyterhub-hub-login"} <= there and not any("__Host-" in name for name in there)
    for path in ("/", "/teach", "/student"):
        page.goto(hub.league + path)
        assert apart.shown_to(page) == INSTRUCTOR, path
    page.goto(f"{hub.url}/hub/home")
    assert page.evaluate("jhdata.user") == INSTRUCTOR
    prof.close()
    student.close()


def plants_a_login(there: Class) -> None:
    """The instructor who opens the student's page is the student at the league."""
    student, prof = there.logged_in(STUDENT), there.logged_in(INSTRUCTOR)
    page = there.hostile_page(prof, *there.planted(student))
    page.goto(f"{there.hub.league}/student")
    assert there.shown_to(page) == STUDENT
    prof.close()
    student.close()


def test_by_http_a_student_can_plant_a_login(in_the_clear: Class):
    """Browsers take cookies of one host alone by https only."""
    plants_a_login(in_the_clear)


def test_so_one_can_on_one_host(together: Class):
    plants_a_login(together)


def test_on_one_host_a_worker_stands_in_for_the_league(together: Class):
    """The league tells it nothing, for browsers say that it is not a person who reads."""
    prof = together.logged_in(INSTRUCTOR)
    page = together.hostile_page(prof)
    page.evaluate(WORK)
    page.goto(f"{together.hub.league}/teach")
    assert page.title() == "of the worker"
    assert "not sent from a page of the league" in together.told()
    assert SECRET not in together.told()
    prof.close()


def test_on_one_host_a_page_gets_a_token_of_the_instructors(together: Class):
    """The league's own pages are closed to it, and the hub's are not."""
    hub = together.hub
    prof = together.logged_in(INSTRUCTOR)
    page = together.hostile_page(prof)
    assert SECRET not in page.evaluate(FETCH, [f"{hub.league}/teach", {}])
    for held in (WINDOW, FRAME):
        assert SECRET not in page.evaluate(held, f"{hub.league}/teach")
    refused(page, f"{hub.league}/teach/open", "evil")
    assert together.done() == []

    page = together.hostile_page(prof)
    (secret,) = re.findall(rf'{HUB_SECRET}: "([^"]+)"', page.evaluate(WINDOW, f"{hub.url}/hub/token"))
    answer = page.evaluate(FETCH, [f"{hub.url}/hub/api/users/{INSTRUCTOR}/tokens", token(secret)])
    stolen = json.loads(answer.partition(" ")[2])["token"]
    headers = {"Authorization": f"token {stolen}"}
    form = urllib.request.Request(f"{hub.league}/teach/open", urlencode(OPEN).encode(), headers)
    assert urllib.request.urlopen(form, timeout=60).status == 200
    assert together.done() == [FORGED, STOLEN]
    prof.close()
