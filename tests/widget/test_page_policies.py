"""What pages outside of a notebook may do: their content security policies."""

import urllib.request

import pytest

from dshq_widget.drills.bandit import Bandit
from dshq_widget.widget import export_html, page_files, play_server
from dshq_widget.widget.drill_widget import DrillWidget
from dshq_widget.widget.play_server import serve

OWN = {"'self'", "'none'", "'unsafe-inline'", "'unsafe-eval'", "data:", "blob:"}
"""No source of these is another host. Rules are functions made from text, so `eval` is needed."""
LOOPBACK = {"ws://127.0.0.1:*", "ws://localhost:*"}


def parts(policy: str) -> dict[str, set[str]]:
    """The sources by their directives."""
    found = [part.split() for part in policy.split(";")]
    return {name: set(sources) for name, *sources in found}


@pytest.mark.parametrize("policy", [export_html.POLICY, play_server.POLICY], ids=["exported", "dshq play"])
def test_a_page_asks_no_other_host(policy: str):
    found = parts(policy)
    for closed in ("default-src", "base-uri", "form-action"):
        assert found.pop(closed) == {"'none'"}, closed
    assert found["connect-src"] <= OWN | LOOPBACK and found["worker-src"] == {"blob:"}
    for name in found.keys() - {"connect-src"}:
        assert found[name] <= OWN, name
    assert not found["img-src"] & {"'unsafe-inline'", "'unsafe-eval'"}


def test_what_is_served_and_exported_has_them(tmp_path, monkeypatch):
    for name in ("widget.js", "play.js", "standalone.js", "widget.css"):
        (tmp_path / name).write_text("/* */")
    monkeypatch.setattr(page_files, "STATIC", tmp_path)
    with DrillWidget(Bandit) as made:
        server = serve(made)
        try:
            with urllib.request.urlopen(server.url, timeout=300) as answer:
                headers = answer.headers
        finally:
            server.close()
    assert headers["Content-Security-Policy"] == play_server.POLICY
    assert parts(play_server.POLICY)["frame-ancestors"] == {"'none'"}
    assert (headers["X-Content-Type-Options"], headers["Referrer-Policy"]) == ("nosniff", "no-referrer")
    state = {"drill": {"spec": {"title": "A </title> game"}}}
    monkeypatch.setattr(export_html, "match_of", lambda *_: {})
    text = export_html.document(state, "", "")
    assert f'<meta http-equiv="Content-Security-Policy" content="{export_html.POLICY}">' in text
    assert text.index("Content-Security-Policy") < text.index("<script"), "it holds for what comes after it"
