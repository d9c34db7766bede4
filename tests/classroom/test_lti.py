"""Students who come from a learning management system, by launches that a platform made here signs."""

import base64
import http.cookiejar
import http.server
import json
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy")
pytest.importorskip("jupyterhub", reason="pip install 'dshq-widget[hub]'")
pytest.importorskip("ltiauthenticator", reason="pip install 'dshq-widget[lti]'")

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from oauthlib.oauth1 import SIGNATURE_TYPE_BODY, Client

from dshq_widget.classroom.hub.demo import Hub
from tests.harness.hub import proxy_or_skip

DOCS = Path(__file__).parents[2] / "docs" / "classroom" / "littlest-jupyterhub"
KEY, SECRET, CLIENT = "key-of-the-lms", "secret-of-the-lms", "tool-7"
SECONDS = 60
CLAIM = "https://purl.imsglobal.org/spec/lti/claim/"
PERSON = {"roles": "Learner", "user_id": "4711", "custom_login": "ada"}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def proxy() -> None:
    proxy_or_skip()


def chosen(folder: Path, name: str, words: dict[str, str]) -> Path:
    """A configuration of docs/classroom with its names in CAPITALS filled in."""
    text = (DOCS / name).read_text(encoding="utf-8")
    for capitals, word in words.items():
        assert capitals in text
        text = text.replace(capitals, word)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


class Browser:
    """Keeps cookies and follows no redirects."""

    def __init__(self) -> None:
        class Stay(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, *_: Any) -> None:
                return None

        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._opener = urllib.request.build_opener(cookies, Stay)

    def ask(self, url: str, form: dict[str, str] | str | None = None) -> tuple[int, str, str]:
        """Status, where it redirects to, and the page."""
        data = None if form is None else (form if isinstance(form, str) else urllib.parse.urlencode(form)).encode()
        try:
            answer = self._opener.open(urllib.request.Request(url, data), timeout=SECONDS)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            return answer.status, answer.headers.get("Location", ""), answer.read().decode()

    def name(self, hub: Hub) -> str | None:
        """Who is logged in, as the hub's own page has it."""
        status, _, page = self.ask(f"{hub.url}/hub/home")
        found = re.search(r'user: "(\w+)"', page) if status == 200 else None
        return found[1] if found else None


@pytest.fixture(scope="module")
def old_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    folder = tmp_path_factory.mktemp("lti11")
    words = {"CONSUMER_KEY": KEY, "SHARED_SECRET": SECRET, "PROF": "prof", "NUMBER": "1000"}
    with Hub(folder / "hub", settings=chosen(folder, "lti11.py", words)) as running:
        yield running


def form(hub: Hub, secret: str = SECRET, claims: dict[str, str] | None = None, **changes: str) -> str:
    """The form of a launch, which says `claims` of its person; `changes` are made after it was signed."""
    message = {"lti_message_type": "basic-lti-launch-request", "lti_version": "LTI-1p0"}
    launch = {**PERSON, **(claims or {}), **message, "resource_link_id": "week-1", "context_id": "dshq"}
    client = Client(KEY, secret, signature_type=SIGNATURE_TYPE_BODY)
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    _, _, body = client.sign(f"{hub.url}/hub/lti/launch", "POST", launch, headers)
    return urllib.parse.urlencode({**dict(urllib.parse.parse_qsl(body)), **changes})


def test_a_signed_form_logs_its_student_in_once(old_hub: Hub):
    launch, ada = form(old_hub), Browser()
    status, there, _ = ada.ask(f"{old_hub.url}/hub/lti/launch", launch)
    assert status == 302 and "/hub/" in there
    assert ada.name(old_hub) == "ada"
    assert Browser().ask(f"{old_hub.url}/hub/lti/launch", launch)[0] == 401, "the same form a second time"


def test_a_forged_form_is_refused(old_hub: Hub):
    for forged in (form(old_hub, secret="guessed"), form(old_hub, custom_login="prof"), form(old_hub, oauth_nonce="1")):
        eve = Browser()
        assert eve.ask(f"{old_hub.url}/hub/lti/launch", forged)[0] == 401
        assert eve.name(old_hub) is None
    assert Browser().ask(f"{old_hub.url}/hub/lti/launch", PERSON)[0] == 400, "without any signature"


def test_a_signed_form_with_the_teachers_name_is_not_the_teacher(old_hub: Hub):
    eve = Browser()
    assert eve.ask(f"{old_hub.url}/hub/lti/launch", form(old_hub, claims={"custom_login": "prof"}))[0] == 403
    assert eve.name(old_hub) is None
    prof = Browser()
    named = form(old_hub, claims={"custom_login": "prof", "user_id": "1000"})
    assert prof.ask(f"{old_hub.url}/hub/lti/launch", named)[0] == 302
    assert prof.name(old_hub) == "prof"


class Platform:
    """A learning management system: its key, and the address where the hub finds the public part."""

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        numbers = self.key.public_key().public_numbers()
        public = {"kty": "RSA", "kid": "1", "alg": "RS256", "use": "sig", "n": _text(numbers.n), "e": _text(numbers.e)}
        answer = json.dumps({"keys": [public]}).encode()

        class Keys(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200 if self.path.endswith("/certs.php") else 404)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Keys)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def token(self, nonce: str, key: rsa.RSAPrivateKey | None = None, **changes: Any) -> str:
        """The signed claims of a launch; `key` is the platform's if not given."""
        claims = {
            "iss": self.url,
            "aud": CLIENT,
            "sub": "4711",
            "iat": int(time.time()),
            "exp": int(time.time()) + 300,
            "nonce": nonce,
            f"{CLAIM}version": "1.3.0",
            f"{CLAIM}message_type": "LtiResourceLinkRequest",
            f"{CLAIM}deployment_id": "1",
            f"{CLAIM}target_link_uri": "/hub",
            f"{CLAIM}resource_link": {"id": "week-1"},
            f"{CLAIM}roles": ["http://purl.imsglobal.org/vocab/lis/v2/membership#Learner"],
            f"{CLAIM}custom": {"login": "ada"},
            **changes,
        }
        return jwt.encode(claims, key or self.key, "RS256", {"kid": "1"})


def _text(number: int) -> str:
    """A number as a JSON Web Key has it (RFC 7518, section 6.3.1)."""
    return base64.urlsafe_b64encode(number.to_bytes((number.bit_length() + 7) // 8, "big")).decode().rstrip("=")


@pytest.fixture(scope="module")
def platform() -> Iterator[Platform]:
    made = Platform()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture(scope="module")
def hub(platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    folder = tmp_path_factory.mktemp("lti13")
    words = {"https://LMS.EXAMPLE.ORG": platform.url, "CLIENT_ID": CLIENT, "PROF": "prof", "NUMBER": "1000"}
    with Hub(folder / "hub", settings=chosen(folder, "lti.py", words)) as running:
        yield running


def begun(hub: Hub, platform: Platform, browser: Browser) -> dict[str, str]:
    """The first half of a launch: the hub sends the browser to the platform; returns what it asks there."""
    hello = {"iss": platform.url, "login_hint": "4711", "target_link_uri": f"{hub.url}/hub", "client_id": CLIENT}
    status, there, _ = browser.ask(f"{hub.url}/hub/lti13/oauth_login", hello)
    assert status == 302 and there.startswith(f"{platform.url}/mod/lti/auth.php?")
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(there).query))


def test_a_signed_token_logs_its_student_in(hub: Hub, platform: Platform):
    ada = Browser()
    asked = begun(hub, platform, ada)
    assert asked["redirect_uri"] == f"{hub.url}/hub/lti13/oauth_callback"
    status, there, _ = ada.ask(
        asked["redirect_uri"], {"state": asked["state"], "id_token": platform.token(asked["nonce"])}
    )
    assert status == 302 and there
    assert ada.name(hub) == "ada"


def test_a_signed_token_with_the_teachers_name_is_not_the_teacher(hub: Hub, platform: Platform):
    for number, code, name in (("4711", 403, None), ("1000", 302, "prof")):
        browser = Browser()
        asked = begun(hub, platform, browser)
        token = platform.token(asked["nonce"], sub=number, **{f"{CLAIM}custom": {"login": "prof"}})
        found, _, _ = browser.ask(asked["redirect_uri"], {"state": asked["state"], "id_token": token})
        assert (found, browser.name(hub)) == (code, name)


@pytest.mark.parametrize("how", ["another key", "another course", "another platform", "an old nonce", "too old"])
def test_a_forged_token_is_refused(hub: Hub, platform: Platform, how: str):
    eve = Browser()
    asked = begun(hub, platform, eve)
    forged = {
        "another key": lambda: platform.token(asked["nonce"], rsa.generate_private_key(65537, 2048)),
        "another course": lambda: platform.token(asked["nonce"], aud="tool-8"),
        "another platform": lambda: platform.token(asked["nonce"], iss="https://other.example.org"),
        "an old nonce": lambda: platform.token("0" * 64),
        "too old": lambda: platform.token(asked["nonce"], exp=int(time.time()) - 10),
    }[how]()
    status, _, _ = eve.ask(asked["redirect_uri"], {"state": asked["state"], "id_token": forged})
    assert status in (400, 401)
    assert eve.name(hub) is None


def test_a_token_without_the_browser_that_asked_for_it_is_refused(hub: Hub, platform: Platform):
    asked = begun(hub, platform, Browser())
    form = {"state": asked["state"], "id_token": platform.token(asked["nonce"])}
    assert Browser().ask(asked["redirect_uri"], form)[0] == 400
