"""A match as one HTML file that needs no kernel and no network: the page's own code, the drill and one policy.

`packed` makes it about half as large, for a notebook's output: the code is stored as gzip in base64 and the browser
unpacks it with `DecompressionStream`.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from collections.abc import Mapping
from typing import Any

from dshq_widget.contract.faces import FACES
from dshq_widget.contract.icon import ICON

PANELS = ("futures", "transport", "status", "mind")
"""Panels of a page without a kernel that plays, but does not train."""
TRAINING_PANELS = (
    *("futures", "transport", "ghost", "training", "pace", "status", "headline", "charts", "mind", "log", "rewards"),
    *(face.panel for face in FACES if face.learns),
    "hyper",
)
"""Panels of a page that trains by itself."""

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' blob:; worker-src blob:; style-src 'unsafe-inline'; "
    "img-src data: blob:; connect-src blob:; base-uri 'none'; form-action 'none'"
)
"""The content security policy of an exported page: it runs its own code, and asks nobody for anything."""

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="{icon}">
<style>
:root {{ color-scheme: light dark }}
body {{ margin: 0 auto; padding: 12px; max-width: {width}; background: #ffffff }}
@media (prefers-color-scheme: dark) {{ body {{ background: #14181c }} }}
</style>
<main id="dshq"></main>
{code}
</html>
"""
_PLAIN = """<style>{css}</style>
<script type="application/json" id="dshq-match">{match}</script>
{trainer}<script>{script}</script>"""
_TRAINER = """<script type="application/json" id="dshq-trainer">{trainer}</script>
"""
_PACKED = """<script type="module">
const unpacked = async (text) => {{
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}};
const add = async (tag, attributes, text) => {{
  const element = Object.assign(document.createElement(tag), attributes);
  element.textContent = await unpacked(text);
  document.head.append(element);
}};
await add("style", {{}}, "{css}");
await add("script", {{ type: "application/json", id: "dshq-match" }}, "{match}");
await add("script", {{}}, "{script}");
</script>"""


def match_of(state: Mapping[str, Any], trains: bool = False) -> dict[str, Any]:
    """The traits that a page without a kernel needs, of a widget's `state` (trait -> value); bytes as base64.
    `trains`: the page trains by itself.
    """
    policy, config = state["policy"], state["config"]
    offered = state.get("controls")
    return {
        "comm_id": "",
        "drill": state["drill"],
        "policy": _as_text(policy),
        "show": {**state["show"], "playing": True, "match": 0},
        "status": "idle",
        "status_text": "",
        "error": "",
        "paused": False,
        "controls": [name for name in (TRAINING_PANELS if trains else PANELS) if offered is None or name in offered],
        "metrics": {},
        "league": [],
        "scenes": [],
        "seat": {},
        "rivals": {name: _as_text(rival) for name, rival in state["rivals"].items() if rival},
        "config": config if trains else {**config, "schema": {}, "presets": {}},
        "snapshot": None,
        "seq": 0,
    }


def _as_text(policy: Mapping[str, Any]) -> dict[str, Any]:
    return {**policy, "data": base64.b64encode(policy["data"]).decode()}


def document(
    state: Mapping[str, Any],
    script: str,
    css: str,
    *,
    packed: bool = False,
    trainer: Mapping[str, Any] | None = None,
) -> str:
    """The whole HTML text; `script` is the bundle standalone.js. Text in the drill's names is escaped. `trainer`: what
    in_page/parts.py has `embedded`, for a page that trains by itself; not with `packed`.
    """
    title = html.escape(state["drill"]["spec"]["title"])
    match = json.dumps(match_of(state, trainer is not None), separators=(",", ":"))
    if packed:
        code = _PACKED.format(css=pack(css), match=pack(match), script=pack(script))
    else:
        match = match.replace("<", "\\u003c")
        added = "" if trainer is None else _TRAINER.format(trainer=json.dumps(trainer))
        code = _PLAIN.format(css=css.replace("</", "<\\/"), match=match, trainer=added, script=_inside_script(script))
    width = "860px" if trainer is None else "1400px"
    return _PAGE.format(title=title, code=code, width=width, policy=POLICY, icon=ICON)


def frame(text: str, title: str) -> str:
    """A document as an element of another page, whose cookies and content it cannot reach."""
    return (
        f'<iframe sandbox="allow-scripts allow-downloads" srcdoc="{html.escape(text)}" title="{html.escape(title)}" '
        'style="width: 100%; height: 780px; border: 0" allow="fullscreen; gamepad"></iframe>'
    )


def pack(text: str) -> str:
    """`text` as gzip in base64, the same bytes every time."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _inside_script(code: str) -> str:
    """Escape `<` in JavaScript before words that would end or change the script element.

    https://html.spec.whatwg.org/multipage/scripting.html#restrictions-for-contents-of-script-elements
    """
    return re.sub(r"<(?=/script|script|!--)", r"\\x3C", code, flags=re.IGNORECASE)


class Embedded:
    """An HTML element for a notebook's output; front ends without HTML show its title."""

    def __init__(self, markup: str, title: str) -> None:
        self._markup, self._title = markup, title

    def _repr_html_(self) -> str:
        return self._markup

    def __repr__(self) -> str:
        return f"<{self._title}, a match that plays in the page>"
