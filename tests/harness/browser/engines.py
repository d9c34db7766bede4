"""Firefox and WebKitGTK as Debian has them, by WebDriver BiDi and WebDriver; no language is set."""

import base64
import io
import itertools
import json
import os
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import websocket
from PIL import Image

from tests.harness.ports import free_port
from tests.harness.process_tree import end_tree

START_SECONDS, ANSWER_SECONDS = 120.0, 240.0
MINI_BROWSERS = "/usr/lib/*/webkit2gtk-4.*/MiniBrowser"
NO_LANGUAGE = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "LANGUAGE": ""}
"""WebKitGTK then calls its language C, which is none."""
LISTEN = """(() => {
    if (window.dshqProblems) return;
    window.dshqProblems = [];
    window.addEventListener("error", (event) => dshqProblems.push(`uncaught: ${event.message}`));
    window.addEventListener("unhandledrejection", (event) => dshqProblems.push(`uncaught: ${event.reason}`));
    const { error } = console;
    console.error = (...words) => { dshqProblems.push(words.join(" ")); error.apply(console, words); };
})()"""
"""WebDriver has no word for the console; BiDi has."""
KEYS = {"Shift": "\ue008", "Control": "\ue009", "Enter": "\ue007"}
"""What WebDriver calls keys that type no letter (w3.org/TR/webdriver2, keyboard actions)."""
PLACE = """((element) => {{
    if (!element) return null;
    element.scrollIntoView({{ block: "center" }});
    const {{ x, y, width, height }} = element.getBoundingClientRect();
    const place = [Math.round(x + {across} * width), Math.round(y + {down} * height)];
    const met = document.elementFromPoint(...place);
    return element.contains(met) ? place : null;
}})({element})"""
"""A point of an element, in CSS pixels of the window, once nothing lies over it."""


class MissingError(Exception):
    """The engine is not on this machine; the text says how it is installed."""


def as_picture(data: str) -> Image.Image:
    """A PNG in base64, as both protocols send it."""
    return Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")


class Engine:
    """A browser process with a profile of its own in `home`."""

    open: Callable[[str], None]
    evaluate: Callable[[str], Any]
    """The value of JavaScript, or of its promise, as JSON has it."""
    problems: Callable[[], list[str]]
    """Errors of its pages so far: what their consoles have said, and exceptions that nobody caught."""
    reload: Callable[[], None]
    act: Callable[..., None]
    """What keys and pointers do, as both protocols write it: w3.org/TR/webdriver2, actions."""
    picture: Callable[[], Image.Image]

    def __init__(self, home: Path, command: list[str], environment: Mapping[str, str]):
        home.mkdir()
        self._said = (home / "said.log").open("wb")
        own = {"HOME": str(home), "XDG_CONFIG_HOME": str(home), "XDG_CACHE_HOME": str(home), **environment}
        self._process = subprocess.Popen(
            command, env={**os.environ, **own}, stdin=subprocess.DEVNULL, stdout=self._said, stderr=self._said
        )
        self._home = home

    def press(self, *keys: str) -> None:
        """Press these keys together: letters, or names of KEYS."""
        values = [KEYS.get(key, key) for key in keys]
        down = [{"type": "keyDown", "value": value} for value in values]
        up = [{"type": "keyUp", "value": value} for value in reversed(values)]
        self.act({"type": "key", "id": "keys", "actions": [*down, *up]})

    def touch(self, element: str, across: float = 0.5, down: float = 0.5, pointer: str = "mouse") -> None:
        """Press a `mouse` button or put down a finger (`touch`) at shares of an element's width and height."""
        x, y = self.until(PLACE.format(element=element, across=across, down=down))
        self._point(pointer, {"type": "pointerMove", "x": x, "y": y}, {"type": "pointerDown", "button": 0})

    def lift(self, pointer: str = "mouse") -> None:
        """Let go of the button, or take the finger away."""
        self._point(pointer, {"type": "pointerUp", "button": 0})

    def click(self, element: str) -> None:
        """Click on the middle of an element."""
        self.touch(element)
        self.lift()

    def _point(self, pointer: str, *actions: Mapping[str, Any]) -> None:
        self.act({"type": "pointer", "id": pointer, "parameters": {"pointerType": pointer}, "actions": actions})

    def until(self, wanted: str | Callable[[], Any], seconds: float = ANSWER_SECONDS) -> Any:
        """The value of JavaScript, or of a call, once it is something."""
        over = time.monotonic() + seconds
        while not (found := self.evaluate(wanted) if isinstance(wanted, str) else wanted()):
            assert time.monotonic() < over, f"{wanted} is {found!r} after {seconds:g} s; {self.problems()}"
            time.sleep(0.3)
        return found

    def wait_for(self, pattern: str) -> str:
        """What stands in the brackets of a pattern, once the browser has said it."""
        over = time.monotonic() + START_SECONDS
        while not (found := re.search(pattern, (said := (self._home / "said.log").read_text(errors="replace")))):
            assert self._process.poll() is None and time.monotonic() < over, said[-2000:]
            time.sleep(0.1)
        return found[1]

    def close(self) -> None:
        end_tree(self._process.pid)
        self._process.wait()
        self._said.close()


class Firefox(Engine):
    """Headless, by WebDriver BiDi (w3.org/TR/webdriver-bidi) on a websocket."""

    def __init__(self, home: Path, preferences: Mapping[str, Any] | None = None):
        program = shutil.which("firefox-esr") or shutil.which("firefox")
        if program is None:
            raise MissingError("no Firefox: `make test-fronts` installs Debian's firefox-esr")
        self._heard: list[str] = []
        profile = home.with_name(f"{home.name}-profile")
        profile.mkdir()
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in (preferences or {}).items()]
        (profile / "user.js").write_text("\n".join(lines))
        command = [program, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"]
        command.append("data:text/html,")  # with an empty page the address bar would have the focus, and keep it
        super().__init__(home, command, NO_LANGUAGE)
        address = self.wait_for(r"WebDriver BiDi listening on (ws://\S+)")
        self._line = websocket.create_connection(f"{address}/session", timeout=ANSWER_SECONDS, suppress_origin=True)
        self._numbers = itertools.count(1)
        self._ask("session.new", capabilities={})
        self._ask("session.subscribe", events=["log.entryAdded"])
        self._context = self._ask("browsingContext.getTree")["contexts"][0]["context"]

    def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        self._line.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            answer = json.loads(self._line.recv())
            if answer.get("method") == "log.entryAdded" and answer["params"]["level"] == "error":
                self._heard.append(str(answer["params"]["text"]))
            elif answer.get("id") == number:
                assert answer["type"] == "success", answer
                found: dict[str, Any] = answer["result"]
                return found

    def open(self, address: str) -> None:
        self._ask("browsingContext.navigate", context=self._context, url=address, wait="complete")

    def reload(self) -> None:
        self._ask("browsingContext.reload", context=self._context, wait="complete")

    def act(self, *sources: Mapping[str, Any]) -> None:
        self._ask("input.performActions", context=self._context, actions=list(sources))

    def picture(self) -> Image.Image:
        return as_picture(self._ask("browsingContext.captureScreenshot", context=self._context)["data"])

    def evaluate(self, expression: str) -> Any:
        wanted = f"(async () => JSON.stringify(await ({expression})))()"
        target = {"context": self._context}
        answer = self._ask("script.evaluate", expression=wanted, target=target, awaitPromise=True)
        assert answer["type"] == "success", answer
        return json.loads(answer["result"].get("value", "null"))

    def problems(self) -> list[str]:
        self.evaluate("0")
        return self._heard

    def close(self) -> None:
        self._line.close()
        super().close()


class WebKit(Engine):
    """MiniBrowser on a screen of its own (Xvfb), by WebDriver (w3.org/TR/webdriver2)."""

    def __init__(self, home: Path, variables: Mapping[str, str] | None = None):
        """`variables` of its environment, such as JavaScriptCore's switches."""
        driver, screen = shutil.which("WebKitWebDriver"), shutil.which("xvfb-run")
        browsers = sorted(Path("/").glob(MINI_BROWSERS.lstrip("/")))
        if not (driver and screen and browsers):
            raise MissingError("no WebKitGTK: `make test-fronts` installs Debian's webkit2gtk-driver and xvfb")
        self._heard: list[str] = []
        port = free_port()
        command = [screen, "--auto-servernum", "--server-args=-screen 0 1280x1000x24", driver, f"--port={port}"]
        own = {"GDK_BACKEND": "x11", "WEBKIT_DISABLE_COMPOSITING_MODE": "1"}
        super().__init__(home, command, {**NO_LANGUAGE, **own, **(variables or {})})
        self._base = f"http://127.0.0.1:{port}"
        options = {"binary": str(browsers[-1]), "args": ["--automation", "--private"]}
        capabilities = {"alwaysMatch": {"webkitgtk:browserOptions": options}}
        self._base += f"/session/{self._begin(capabilities)}"
        self._ask("POST", "/timeouts", script=int(ANSWER_SECONDS * 1000), pageLoad=int(ANSWER_SECONDS * 1000))

    def _begin(self, capabilities: dict[str, Any]) -> str:
        over = time.monotonic() + START_SECONDS
        while True:
            try:
                return str(self._ask("POST", "/session", capabilities=capabilities)["sessionId"])
            except OSError:
                assert time.monotonic() < over, (self._home / "said.log").read_text(errors="replace")[-2000:]
                time.sleep(0.2)

    def _ask(self, method: str, path: str, **body: Any) -> Any:
        data = json.dumps(body).encode() if method == "POST" else None
        request = urllib.request.Request(self._base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as problem:
            problem.add_note(problem.read().decode(errors="replace"))  # which says more than a number
            raise

    def open(self, address: str) -> None:
        self.problems()
        self._ask("POST", "/url", url=address)
        self.evaluate(LISTEN)

    def reload(self) -> None:
        self.problems()
        self._ask("POST", "/refresh")
        self.evaluate(LISTEN)

    def act(self, *sources: Mapping[str, Any]) -> None:
        self._ask("POST", "/actions", actions=list(sources))

    def picture(self) -> Image.Image:
        return as_picture(self._ask("GET", "/screenshot"))

    def evaluate(self, expression: str) -> Any:
        wanted = f"(async () => JSON.stringify(await ({expression})))()"
        script = f"const done = arguments[0]; {wanted}.then(done, (error) => done('!' + error))"
        found = self._ask("POST", "/execute/async", script=script, args=[])
        assert not str(found).startswith("!"), found
        return None if found is None else json.loads(found)

    def problems(self) -> list[str]:
        self._heard += self.evaluate("window.dshqProblems?.splice(0) ?? []")
        return self._heard


ENGINES: dict[str, Callable[[Path], Engine]] = {"firefox": Firefox, "webkit": WebKit}
