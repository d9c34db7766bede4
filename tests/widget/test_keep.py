"""What is kept: policies that travel between page and kernel as files, and loading one over another."""

import base64
import json
import re
import struct
from html.parser import HTMLParser

import numpy as np
import pytest

from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import drills
from dshq_widget.policy import checkpoint, ladder
from dshq_widget.policy.loading import load_policy
from dshq_widget.training.trainer import Trainer
from dshq_widget.widget import export_html, flow, page_protocol
from dshq_widget.widget.drill_widget import DrillWidget
from tests.harness.browser.recorded_widget import until

TINY = {"num_envs": 32, "rollout_length": 16, "minibatch_size": 256, "workers": 0}
PATIENCE = 300.0


def parts_of(data: bytes, name: str = "a.dshq", size: int = 1000):
    pieces = [data[at : at + size] for at in range(0, len(data), size)] or [b""]
    return [({"name": name, "part": k, "parts": len(pieces)}, [piece]) for k, piece in enumerate(pieces)]


def policy_bytes(drill: str = "ball", **hyper) -> bytes:
    with Trainer(drill, **hyper) as trainer:
        return trainer.policy_file()


def test_upload_puts_the_parts_together():
    data = bytes(range(256)) * 20
    upload = page_protocol.Upload()
    *first, last = parts_of(data)
    assert all(upload.take(*part) is None for part in first)
    assert upload.take(*last) == ("a.dshq", data)
    assert upload.take(*parts_of(b"", "empty.dshq")[0]) == ("empty.dshq", b"")


def test_upload_begins_anew_after_a_part_out_of_turn():
    data = b"x" * 2500
    upload = page_protocol.Upload()
    one, two, three = parts_of(data)
    upload.take(*one)
    with pytest.raises(ValueError, match="out of order"):
        upload.take(*three)
    with pytest.raises(ValueError, match="out of order"):
        upload.take(*two)
    for part in (one, two):
        assert upload.take(*part) is None
    assert upload.take(*one) is None  # the page was loaded again half way
    assert upload.take(*two) is None
    assert upload.take(*three) == ("a.dshq", data)


@pytest.mark.parametrize(
    "content, buffers",
    [
        ({}, []),
        ({"name": "a", "part": 0, "parts": 1}, []),
        ({"name": "a", "part": 0, "parts": 1}, None),
        ({"name": "a", "part": True, "parts": 1}, [b""]),
        ({"name": "a", "part": 0, "parts": 0}, [b""]),
        ({"name": "a", "part": -1, "parts": 1}, [b""]),
        ({"name": 7, "part": 0, "parts": 1}, [b""]),
        ({"name": "a" * 300, "part": 0, "parts": 1}, [b""]),
        ({"name": "a", "part": 0, "parts": page_protocol.PARTS_MAX + 1}, [b""]),  # of nothing, without end
    ],
)
def test_upload_refuses_nonsense(content, buffers):
    with pytest.raises(ValueError):
        page_protocol.Upload().take(content, buffers)


def test_upload_is_bounded(monkeypatch):
    monkeypatch.setattr(page_protocol, "FILE_BYTES_MAX", 1500)
    upload = page_protocol.Upload()
    one, two = parts_of(b"x" * 1600)
    upload.take(*one)
    with pytest.raises(ValueError, match="larger than"):
        upload.take(*two)


def test_a_loaded_policy_plays_at_once_and_brings_its_shape(tmp_path):
    with Trainer("ball", hidden_sizes=(32, 32), seed=5) as other:
        path = other.save(tmp_path / "small.dshq")
        weights = other.latest_policy().weights
    with Trainer("ball", seed=1, learning_rate=0.001) as trainer:
        trainer.load(path)
        assert np.array_equal(trainer.latest_policy().weights, weights)
        assert trainer.config.hidden_sizes == (32, 32)
        assert (trainer.config.seed, trainer.config.learning_rate) == (1, 0.001)  # only the shape is taken
        assert trainer.status == "stopped" and "small.dshq" in trainer.status_text


def test_a_file_that_does_not_fit_changes_nothing(tmp_path):
    with Trainer("cartpole") as other:
        path = other.save(tmp_path / "pole.dshq")
    with Trainer("ball", seed=1) as trainer:
        before = trainer.latest_policy()
        with pytest.raises(checkpoint.CheckpointError, match=r"'pole.dshq' was trained on 'cartpole'"):
            trainer.load(path)
        assert trainer.latest_policy() is before and trainer.status == "idle"


def test_settings_that_no_release_takes_change_nothing():
    drill = compile_drill(drills["ball"])
    with Trainer(drill) as trainer:
        before = trainer.latest_policy()
        saved = checkpoint.decode(trainer.policy_file())
        saved.config["learning_rate"] = "much"
        with pytest.raises(checkpoint.CheckpointError, match="settings"):
            trainer.load_checkpoint(saved, "odd.dshq")
        assert trainer.latest_policy() is before


@pytest.mark.usefixtures("learners_in_threads")
def test_loading_stops_and_keeps_a_running_training(tmp_path):
    with Trainer("ball", seed=5) as other:
        path = other.save(tmp_path / "fresh.dshq")
        weights = other.latest_policy().weights
    with Trainer("ball", log_dir=tmp_path / "log", **TINY) as trainer:
        trainer.start()
        trainer.wait(updates=5, progress=False)
        trainer.load(path)
        assert trainer.join(PATIENCE)
        assert np.array_equal(trainer.latest_policy().weights, weights)
        assert trainer.version == 0 and trainer.status == "stopped"
        assert "replaced.dshq" in trainer.status_text
        assert checkpoint.load(tmp_path / "log" / "replaced.dshq").version >= 5
        trainer.start()  # and continues from what was loaded
        assert trainer.wait(updates=2, progress=False)
        assert trainer.version >= 2


@pytest.fixture
def widget(monkeypatch):
    monkeypatch.setattr(flow.Flow, "reachable", property(lambda _flow: False))  # what is to be sent stays
    made = DrillWidget("ball", seed=1)
    yield made
    made.close()


def said(widget, kind: str) -> list[dict]:
    return [message for message in widget._outbox.messages if message["type"] == kind]


def heard(widget, kind: str) -> dict:
    """The first message of that kind, once it is made."""
    return until(lambda: said(widget, kind))[0]


def send(widget, content, buffers=None) -> None:
    widget._inbox.take_message(content, buffers or [])
    widget._refresh()


def test_a_file_is_named_after_the_version_in_it(widget, monkeypatch):
    """A learner may finish its update before it packs the run."""
    later = ladder.path("ball", "bronze").read_bytes()
    monkeypatch.setattr(widget._trainer, "run_file", lambda: later)
    send(widget, {"type": "SAVE_POLICY", "whole": True})
    assert heard(widget, "POLICY_FILE")["name"] == f"ball-v{checkpoint.decode(later).version}.dshq"


def test_the_page_gets_a_file_that_loads(widget):
    send(widget, {"type": "SAVE_POLICY"})
    (message,) = said(widget, "POLICY_FILE")
    assert message["name"] == "ball-v0.dshq"
    assert np.array_equal(checkpoint.decode(message["buffers"][0]).weights, np.frombuffer(widget.policy["data"], "<f4"))


def test_the_page_loads_a_policy(widget):
    for content, buffers in parts_of(policy_bytes(seed=9, hidden_sizes=(32,)), size=3000):
        send(widget, {"type": "LOAD_POLICY", **content}, [memoryview(piece) for piece in buffers])
    assert widget.policy["layers"] == [28, 32, 31]
    assert not said(widget, "LOG")


def hostile() -> list[bytes]:
    good = policy_bytes()
    (header,) = struct.unpack_from("<Q", good)
    return [
        b"",
        b"PK\x03\x04" + bytes(60),
        b"\x80\x04\x95" + bytes(60),
        b"<html><script>alert(1)</script>",
        struct.pack("<Q", 1 << 60) + b"{" + bytes(60),
        good[:-7],
        good[:200] + bytes(200) + good[400:],
        good[: 8 + header] + bytes(len(good) - 8 - header),
        policy_bytes("cartpole"),
    ]


def test_a_hostile_file_is_one_sentence_and_changes_nothing(widget):
    before = dict(widget.policy)
    for count, data in enumerate(hostile(), 1):
        for content, buffers in parts_of(data, "evil.dshq", size=1 << 20):
            send(widget, {"type": "LOAD_POLICY", **content}, buffers)
        assert len(said(widget, "LOG")) == count
        sentence = said(widget, "LOG")[-1]["text"]
        assert "'evil.dshq'" in sentence and "\n" not in sentence
        assert widget.policy == before and widget.status == "idle"


def test_every_rung_plays_and_is_small():
    rules = compile_drill(drills["ball"]).spec.rules_hash
    assert ladder.rungs("ball") == ladder.RUNGS
    for rung in ladder.RUNGS:
        policy = load_policy(f"ball:{rung}")
        assert policy.metadata["drill"] == "ball" and policy.metadata["rules_hash"] == rules
        assert ladder.path("ball", rung).stat().st_size < 200_000


def test_a_widget_begins_with_a_rung():
    with DrillWidget("ball", policy="gold") as made:
        assert made.policy["data"] == load_policy("ball:gold").weights.tobytes()
        assert made.version > 0 and made.status == "stopped"


class Parts(HTMLParser):
    """The text inside each element, by tag and id."""

    def __init__(self, text: str):
        super().__init__()
        self.found: dict[tuple[str, str | None], str] = {}
        self._inside: tuple[str, str | None] = ("", None)
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self._inside = tag, dict(attributes).get("id")
        self.found.setdefault(self._inside, "")

    def handle_data(self, data):
        self.found[self._inside] = self.found.get(self._inside, "") + data


@pytest.fixture
def spiteful(widget):
    """A widget whose drill would end its element, were its title taken as HTML."""
    evil = '</script><script>alert(1)</script>"><!--'
    widget.drill = {**widget.drill, "spec": {**widget.drill["spec"], "title": evil}}
    return widget


def test_exported_html_holds_the_match_and_nothing_from_elsewhere(spiteful, tmp_path):
    path = spiteful.export_html(tmp_path / "match.html", train=False)
    text = path.read_text(encoding="utf-8")
    parts = Parts(text).found
    match = json.loads(parts["script", "dshq-match"])
    assert base64.b64decode(match["policy"]["data"]) == spiteful.policy["data"]
    assert match["drill"]["spec"]["title"].startswith("</script>")
    assert parts["title", None].startswith("</script>")  # as text
    assert "alert" not in parts["script", None].split("dshq-match")[0][:200]
    outside, scripts = re.subn(r"(<script[^>]*>).*?</script>", r"\1", text, flags=re.DOTALL)
    assert scripts == outside.count("<script") >= 2
    assert not re.search(r"<(script|link|img|iframe)[^>]*(src|href)=(?!.data:)|@import|url\((?!data:)", outside)
    assert len(text) < 600_000
    assert "default-src 'none'" in re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1]


def test_an_embedded_match_is_a_frame_of_bearable_size(spiteful):
    text = spiteful.embed()._repr_html_()
    assert text.count("<") == 2 and text.startswith('<iframe sandbox="allow-scripts allow-downloads" srcdoc=')
    assert "allow-same-origin" not in text, "it reaches neither the notebook nor its cookies"
    assert len(text) < 400_000


def test_bundle_text_cannot_end_its_script():
    code = export_html.document(
        {"drill": {"spec": {"title": "x"}}, "policy": {"data": b""}, "rivals": {}, "config": {}, "show": {}},
        "a = '<!--<script></SCRIPT>'",
        "",
    )
    assert r"a = '\x3C!--\x3Cscript>\x3C/SCRIPT>'" in code


def test_training_starts_from_a_rung(make, tmp_path):
    widget = make("ball", **TINY)
    trainer = widget._trainer
    assert widget.config["start"] == {"offered": ["bronze", "silver", "gold"], "now": ""}
    widget.load("bronze")
    bronze = checkpoint.load("ball:bronze")
    assert widget.config["start"]["now"] == trainer.start_from == "bronze"
    assert (trainer.latest_policy().weights == bronze.weights).all()
    trainer.next_update()
    assert trainer.wait(updates=bronze.metrics["updates"] + 1, progress=False) and trainer.version == bronze.version + 1
    trainer.stop()
    assert trainer.join(PATIENCE) and trainer.start_from is None, "something was learned"
    widget.reset_training()
    assert widget.config["start"]["now"] == "" and widget.version == 0


def test_the_page_chooses_the_rung(make):
    widget = make("ball")
    widget.comm.say({"type": "START_FROM", "policy": "silver"})
    assert until(lambda: widget.config["start"]["now"] == "silver")
    widget.comm.say({"type": "START_FROM", "policy": "platinum"})
    assert until(lambda: any("platinum" in log["text"] for log in widget.comm.customs("LOG")))
    assert widget.config["start"]["now"] == "silver"


def test_a_drill_without_a_ladder_offers_nothing_to_start_from(make):
    widget = make("sumo")
    assert widget.config["start"] == {"offered": [], "now": None}
    with pytest.raises(checkpoint.CheckpointError, match="only the built-in drill 'ball' has a ladder"):
        widget.load("gold")


def test_the_page_gets_the_match_as_a_web_page(widget):
    send(widget, {"type": "SAVE_PAGE"})
    message = heard(widget, "PAGE_FILE")
    assert (message["name"], message["problem"]) == ("ball-v0.html", "")
    text = bytes(message["buffers"][0]).decode()
    assert text.startswith("<!doctype html>") and 'id="dshq-match"' in text and 'id="dshq-trainer"' in text


def test_the_page_is_told_why_there_is_no_web_page(monkeypatch, widget):
    def refuse(_train=None):
        raise ValueError("ball cannot be exported")

    monkeypatch.setattr(widget._commands, "_page_file", refuse)
    send(widget, {"type": "SAVE_PAGE"})
    message = heard(widget, "PAGE_FILE")
    assert (message["buffers"], message["problem"]) == ([], "ball cannot be exported")
