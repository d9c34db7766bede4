"""The widget against a page that is not there, one that answers, one that drops messages and one that lies."""

import logging
import re
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from jupyter_client.manager import start_new_kernel

from dshq_widget.contract import protocol, settings
from dshq_widget.drills.bandit import Bandit
from dshq_widget.notebook import cells
from dshq_widget.policy.checkpoint import CheckpointError
from dshq_widget.training.trainer import Trainer
from dshq_widget.widget import drill_widget, flow, page_files, page_protocol
from dshq_widget.widget.commands import HISTORY_ROWS, HISTORY_VALUES
from dshq_widget.widget.drill_widget import DrillWidget
from dshq_widget.widget.flow import ACK_SECONDS, LIVE
from tests.harness.browser.recorded_widget import PATIENCE, until

pytestmark = pytest.mark.usefixtures("bundle")


def test_a_new_widget_carries_everything_a_page_needs(make):
    w = make(seed=3)
    [(_, kind, data, buffers)] = [entry for entry in w.comm.log if entry[1] == "comm_open"]
    state = data["state"]
    assert set(LIVE) <= set(state) and kind == "comm_open"
    assert state["drill"]["spec"]["name"] == "ball" and "javascript" in state["drill"]
    assert state["status"] == "idle" and state["show"] == {**protocol.SHOW_DEFAULTS, "seed": 3}
    assert state["policy"]["version"] == 0 and ["policy", "data"] in data["buffer_paths"]
    layers = state["policy"]["layers"]
    assert len(buffers[data["buffer_paths"].index(["policy", "data"])]) == 4 * protocol.blob_floats(layers)
    assert state["policy"]["shape_hash"] == protocol.shape_hash(layers, state["policy"]["activation"])
    assert set(state["config"]["values"]) == set(settings.FIELDS)
    of_environments = {"action_distribution", "action_repeat", "fire_on_reset", "life_ends_episode", "frames"}
    assert set(settings.FIELDS) - set(state["config"]["schema"]) == of_environments | {"joint"}


def test_the_same_seed_gives_the_same_untrained_policy(make):
    assert make(seed=1).policy == make(seed=1).policy != make(seed=2).policy


def test_the_show_from_python(make):
    w = make(mode="sandbox", speed=2)
    assert (w.mode, w.speed, w.opponent) == ("sandbox", 2.0, "")
    w.speed, w.mode, w.opponent = 0.25, "human_vs_ai", "chaser"
    w.pause()
    w.reset(seed=9)
    w.reset()
    assert w.show | {"swap_interval_ms": 0} == {
        **protocol.SHOW_DEFAULTS,
        "speed": 0.25,
        "mode": "human_vs_ai",
        "opponent": "chaser",
        "playing": False,
        "seed": 9,
        "match": 2,
        "swap_interval_ms": 0,
    }
    w.play()
    assert w.show["playing"]


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda w: setattr(w, "speed", -1), "speed must be a number from 0.25 to 32, got -1"),
        (lambda w: setattr(w, "speed", float("nan")), "speed must be"),
        (lambda w: setattr(w, "mode", "ai_vs_al"), "did you mean 'ai_vs_ai'"),
        (lambda w: setattr(w, "opponent", "chasr"), "did you mean 'chaser'"),
        (lambda w: w.reset(seed=-1), "seed must be a whole number"),
        (lambda w: w.step(unit="frame"), "unit must be one of 'tick', 'decision'"),
        (lambda w: w.step(count=0), "count must be"),
        (lambda w: w.train(learnin_rate=1), "did you mean 'learning_rate'"),
        (lambda w: w.set_hyper(lr=-1), "learning_rate must be a number from 0 to 1"),
        (lambda w: w.set_hyper(opponents="chasr=1"), "did you mean 'chaser'"),
        (lambda w: w.wait(), "seconds=, updates=, win_rate= or return_mean="),
    ],
)
def test_bad_input_is_one_sentence_and_changes_nothing(make, act, sentence):
    w = make()
    show, values = w.show, w.config["values"]
    with pytest.raises(ValueError, match=re.escape(sentence)):
        act(w)
    assert (w.show, w.config["values"], w.status) == (show, values, "idle")


def test_bad_arguments():
    with pytest.raises(ValueError, match="did you mean 'ball'"):
        DrillWidget("bal")
    with pytest.raises(ValueError, match="speed must be"):
        DrillWidget(speed=100)
    with pytest.raises(ValueError, match="cannot read the policy file"):
        DrillWidget("none.dshq")


def test_a_policy_of_ones_own_drill_asks_for_its_class(tmp_path):
    class Mine(Bandit):
        name = "mine"

    with Trainer(Mine) as trainer:
        bot = str(trainer.save(tmp_path / "bot.dshq"))
    with pytest.raises(CheckpointError, match=re.escape(f"pass its class as the drill and resume={bot!r}")):
        DrillWidget(bot)
    with DrillWidget(Mine, resume=bot) as w:
        assert w.drill["spec"]["name"] == "mine"
    with pytest.raises(ValueError, match=r"got the file 'mine\.py': import the class"):
        DrillWidget("mine.py")


def test_a_missing_bundle_says_how_to_build_it(tmp_path, monkeypatch):
    monkeypatch.setattr(page_files, "STATIC", tmp_path / "none")
    with pytest.raises(FileNotFoundError, match="make setup"):
        DrillWidget()


def test_settings_reach_the_page_as_a_person_would_type_them(make):
    w = make()
    w.set_hyper(lr=1e-3, opponents={"self": 1}, hidden_sizes=(32,))
    assert w.config["values"]["learning_rate"] == 1e-3
    assert w.config["values"]["opponents"] == "self=1"
    assert until(lambda: w.policy["layers"] == [28, 32, 31])


def test_save_and_load(make, tmp_path):
    w = make(seed=5, lr=1e-3)
    path = w.save(tmp_path / "bot.dshq")
    again = make(path)
    assert again.policy["data"] == w.policy["data"] and again.config["values"] == w.config["values"]
    again.close()
    again.close()
    assert again.save(tmp_path / "after.dshq").exists()
    with pytest.raises(RuntimeError, match="closed"):
        again.train()


def test_a_policy_that_is_loaded_brings_curves_of_its_own(make, tmp_path):
    path = make(seed=5).save(tmp_path / "bot.dshq")
    w = make()
    w.comm.say({"type": "HELLO", "seq": 0})
    until(lambda: len(w.comm.customs("HISTORY")) == 1)
    w.load(path)
    until(lambda: len(w.comm.customs("HISTORY")) == 2)
    w.comm.say({"type": "RESTORE_HISTORY", "rows": [{"updates": 1, "agent_steps": 10}, {"updates": 2}]})
    until(lambda: len(w.comm.customs("HISTORY")) == 3)
    assert w.comm.customs("HISTORY")[-1]["rows"] == [{"updates": 1, "agent_steps": 10}, {"updates": 2}]
    w.reset_training()
    until(lambda: len(w.comm.customs("HISTORY")) == 4)
    assert w.comm.customs("HISTORY")[-1] == {"type": "HISTORY", "start": 0, "rows": []}


def test_a_policy_that_replaces_another_does_not_wait_for_the_swap_interval(make):
    w = make(swap_interval_ms=600_000, prepare=False)
    w.comm.say({"type": "HELLO"})
    versions = lambda: [state["policy"]["version"] for state in w.comm.updates() if "policy" in state]  # noqa: E731
    until(lambda: w._outbox.flow.reachable)
    for load in (lambda: w.load("silver"), lambda: w.load("gold"), w.reset_training):
        before, run = len(versions()), w.policy["run"]
        load()
        until(lambda: len(versions()) > before)  # noqa: B023
        assert w.policy["run"] != run and versions()[-1] == w._trainer.version
        w.comm.say({"type": "ACK", "seq": w.seq})


def test_curves_that_are_put_back_replace_no_policy(make):
    """The ghost keeps its versions, and the next one waits for its time."""
    w = make(prepare=False)
    w.load("gold")
    run = w.policy["run"]
    w._trainer.restore_history([{"updates": 1}])
    w._refresh()
    assert w._policy_trait()["run"] == run


def test_a_policy_that_is_replaced_later_is_shown_at_once(make):
    """A learner that runs finishes its update first, and a policy of its own may be sent meanwhile."""
    w = make(swap_interval_ms=600_000, prepare=False)
    w._refresh()
    w._policy_at = time.monotonic()
    w._trainer.load("gold")
    w._refresh()
    assert w.policy["version"] == w._trainer.version > 0


def test_without_a_page_everything_is_said_twice_and_then_there_is_silence(make, monkeypatch):
    w = make()
    for k in range(20):
        w.reset(seed=k)
    until(lambda: w.seq == 2)
    time.sleep(2 * ACK_SECONDS)
    w.reset(seed=99)
    time.sleep(0.5)
    first, again = w.comm.updates()
    assert set(first) == set(again) == {"show", "seq"}, "what was acknowledged before is not resent"
    assert w.show["seed"] == 99, "what nobody looks at is kept all the same"
    monkeypatch.setattr(flow, "ACK_SECONDS", PATIENCE)  # so that nothing is said twice to the page that comes
    w.comm.say({"type": "HELLO", "seq": 0})
    until(lambda: len(w.comm.updates()) == 3)
    assert set(w.comm.updates()[-1]) == set(LIVE) and w.comm.updates()[-1]["show"]["seed"] == 99
    assert until(lambda: w.comm.customs("HISTORY")) == [{"type": "HISTORY", "start": 0, "rows": []}]
    w.comm.say({"type": "ACK", "seq": w.seq})
    w.comm.say({"type": "HELLO", "seq": w.seq})
    until(lambda: len(w.comm.customs("HISTORY")) == 2)
    assert len(w.comm.updates()) == 3, "one more view of a page that holds everything"


def test_the_page_asks_for_everything(make):
    w = make()
    w.reset(seed=7)
    w.comm.say({}, "request_state")
    assert any("_esm" in state and state["show"]["seed"] == 7 for state in w.comm.updates())


def test_steps_wait_for_the_page(make):
    w = make()
    w.step()
    w.step("decision", count=3)
    assert not w.show["playing"]
    time.sleep(0.3)
    assert w.comm.customs("STEP") == []
    w.comm.say({"type": "HELLO"})
    until(lambda: len(w.comm.customs("STEP")) == 2)
    assert w.comm.customs("STEP") == [
        {"type": "STEP", "unit": "tick", "count": 1},
        {"type": "STEP", "unit": "decision", "count": 3},
    ]


def test_the_page_changes_the_show_and_python_sees_it(make):
    w = make()
    w.comm.say({"state": {"show": {**w.show, "speed": 8, "playing": False, "match": 4}}}, "update")
    until(lambda: w.speed == 8)
    assert w.show["match"] == 4 and not w.show["playing"]
    time.sleep(0.2)
    assert w.comm.updates() == [], "the page knows already"
    w.comm.say({"state": {"show": {**w.show, "speed": 1e9, "match": 0, "mode": "sandbox"}}}, "update")
    until(lambda: w.mode == "sandbox")
    assert (w.speed, w.show["match"]) == (8, 4)
    until(lambda: w.comm.updates())
    assert w.comm.updates()[0]["show"]["speed"] == 8, "a page that was wrong is told so"


def test_the_snapshot_survives_a_reload(make):
    w = make()
    state = np.arange(10, dtype=np.uint32).tobytes()
    snapshot = {"tick": 5, "score": [1, 0], "version": 3, "state": None, "rules_hash": "abc", "rng": 1}
    message = {"state": {"snapshot": snapshot}, "buffer_paths": [["snapshot", "state"]], "buffers": [memoryview(state)]}
    w.comm.say(message, "update")
    until(lambda: w.snapshot)
    assert w.snapshot["state"] == state
    w.comm.say({}, "request_state")
    assert w.comm.updates()[-1]["snapshot"]["score"] == [1, 0]


def test_what_the_page_reports(make):
    w = make()
    report = {"type": "PAGE_STATE", "fps": 59.5, "renderer": "webgpu", "tick": 9, "score": [0, 0], "version": 12}
    w.comm.say({**report, "visible": True})
    until(lambda: w.version == 12)


HOSTILE: list = [
    None,
    [],
    {},
    {"type": None},
    {"type": "__class__"},
    {"type": ["HELLO"]},
    {"type": "ACK", "seq": "x"},
    {"type": "ACK", "seq": 1 << 70},
    {"type": "SET_HYPER", "key": "lr", "value": {"a": 1}},
    {"type": "SET_HYPER", "key": "self", "value": 1},
    {"type": "SET_HYPER"},
    {"type": "START_TRAINING", "num_envs": -5},
    {"type": "START_TRAINING", "<img onerror=alert(1)>": 1},
    {"type": "PAGE_STATE"},
    {"type": "PAGE_STATE", "fps": float("nan"), "version": 1, "visible": True},
    {"type": "PAGE_STATE", "fps": 1, "version": "1", "visible": 1},
]


def test_a_lying_page_changes_nothing_and_raises_nothing(make, caplog):
    w = make()
    watched = ("show", "status", "policy", "config", "snapshot")
    before = {name: getattr(w, name) for name in watched}
    with caplog.at_level(logging.WARNING):
        for content in HOSTILE:
            w.comm.say(content)
        for state in (
            {"status": "training", "policy": {}, "drill": None, "seq": -1, "_esm": "alert(1)"},
            {"show": None},
            {"show": {"speed": "fast", "mode": 3, "__proto__": 1}},
            {"snapshot": {"state": "text"}},
            {"snapshot": {"state": b"x" * (2 << 20)}},
            {"snapshot": {"state": b"x", "deep": {"er": 1}}},
            {"nonsense": 1},
            [1, 2],
        ):
            w.comm.say({"state": state}, "update")
        paths = [["show"], ["x", "y"], [], 3]
        w.comm.say({"state": {"show": {}}, "buffer_paths": paths, "buffers": [b""] * 4}, "update")
        w.comm.say({"state": {}, "buffer_paths": 3}, "update")
        w.comm.say({}, "explode")
        w.comm.handle_msg({"content": {"data": 3}, "buffers": []})
        w.comm.say({"type": "HELLO"})
        until(lambda: w.comm.customs("HISTORY"))
    assert before == {name: getattr(w, name) for name in watched}
    assert w._esm.startswith("export default")
    ours = [record for record in caplog.records if record.name.startswith("dshq_widget")]
    assert not [record for record in ours if record.levelno > logging.WARNING or record.exc_info]
    assert len(ours) <= 20
    assert [log["text"] for log in w.comm.customs("LOG")], "a command that failed is answered"


def test_bad_hyper_parameters_from_the_page_are_answered(make):
    w = make()
    w.comm.say({"type": "HELLO"})
    w.comm.say({"type": "SET_HYPER", "key": "learning_rate", "value": 7})
    [answer] = until(lambda: w.comm.customs("LOG"))
    assert answer["level"] == "error" and answer["text"] == "learning_rate must be a number from 0 to 1, got 7"
    w.comm.say({"type": "SET_HYPER", "key": "learning_rate", "value": "0.01"})
    until(lambda: w.config["values"]["learning_rate"] == 0.01)


def test_running_a_cell_again_closes_what_it_made(make, monkeypatch, tmp_path):
    cell = ["cell-a", "run-1"]
    monkeypatch.setattr(cells, "running_cell", lambda: tuple(cell))
    first, second = make(), make()
    assert not first._closed, "one execution may make several"
    cell[:] = "cell-b", "run-2"
    make()
    assert not first._closed and not second._closed
    cell[:] = "cell-a", "run-3"
    third = make()
    assert first._closed and second._closed and not third._closed
    assert first.save(tmp_path / "kept").exists(), "what it learned can still be saved"


def test_ctrl_c_while_a_cell_closes_what_it_made_leaves_nothing_open(make, monkeypatch):
    """The old widget stood on the page at "stopping" for good, and nobody could close it, or the new one."""
    cell = ["cell-a", "run-1"]
    monkeypatch.setattr(cells, "running_cell", lambda: tuple(cell))
    first, second = make(), make()
    close = first._trainer.close
    cell[1] = "run-2"
    with monkeypatch.context() as patched:

        def interrupted():
            close()
            raise KeyboardInterrupt

        patched.setattr(first._trainer, "close", interrupted)
        with pytest.raises(KeyboardInterrupt):
            make()
    assert first._closed and first.comm is None and not first._sender.is_alive()
    assert second._closed and second.comm is None
    _, [third] = cells._made["cell-a"]
    cell[1] = "run-3"
    make()
    assert third.comm is None and not third._sender.is_alive()


def test_closing_again_closes_what_ctrl_c_left(make, monkeypatch):
    """It came while the widget waited for the run's lock: nothing closed the trainer any more."""
    made = make()
    with monkeypatch.context() as patched:

        def interrupted():
            raise KeyboardInterrupt

        patched.setattr(made._trainer, "close", interrupted)
        with pytest.raises(KeyboardInterrupt):
            made.close()
    made._trainer._run.check_open()
    made.close()
    with pytest.raises(RuntimeError, match="closed"):
        made._trainer.start()


def test_the_same_in_a_real_kernel(tmp_path):
    """Cells are told apart by what JupyterLab writes into the request's metadata."""
    manager, client = start_new_kernel(kernel_name="python3")

    def run(code: str, cell: str) -> str:
        content = {"code": code, "silent": False, "store_history": True, "allow_stdin": False, "stop_on_error": True}
        request = client.session.msg("execute_request", content, metadata={"cellId": cell})
        client.shell_channel.send(request)
        printed = ""
        while True:
            message = client.get_iopub_msg(timeout=PATIENCE)
            if message["parent_header"].get("msg_id") != request["header"]["msg_id"]:
                continue
            kind, content = message["msg_type"], message["content"]
            assert kind != "error", content
            if kind == "stream" and content["name"] == "stdout":
                printed += content["text"]
            if kind == "status" and content["execution_state"] == "idle":
                return printed.strip()

    try:
        (tmp_path / "widget.js").write_text("export default {};")
        here = Path(drill_widget.__file__).parents[2]
        setup = f"""
        import sys; sys.path[:0] = [{str(here)!r}, {str(here / "kernels")!r}]
        from pathlib import Path
        from dshq_widget import DrillWidget
        from dshq_widget.widget import page_files
        page_files.STATIC = Path({str(tmp_path)!r})
        made = []
        """
        run(textwrap.dedent(setup), "cell-0")
        train = "w = DrillWidget(workers=0, num_envs=16); w.train(); made.append(w); print(w.status)"
        assert run(train, "cell-1") == "starting"
        assert run("v = DrillWidget(); print(w.status in ('starting', 'training'))", "cell-2") == "True"
        assert run(train, "cell-1") == "starting"
        assert run("print(made[0].status in ('stopping', 'stopped'), 'torch' in sys.modules)", "cell-3") == "True False"
        assert (
            run("[x.close() for x in [*made, v]]; print([x.status for x in made])", "cell-3")
            == "['stopped', 'stopped']"
        )
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_thinned_histories_keep_the_newest_row():
    rows = [{"updates": k} for k in range(1001)]
    assert page_protocol.thinned([], 5, 100) == []
    assert page_protocol.thinned(rows[:3], 5, 100) == rows[:3]
    thin = [row["updates"] for row in page_protocol.thinned(rows, 100, 10_000)]
    assert len(thin) <= 100 and thin[-1] == 1000 and len(set(np.diff(thin))) == 1


def test_what_every_page_gets_that_is_opened_is_bounded_however_many_metrics_there_are():
    """A page that trained with 500 of long names had all others wait for seconds each time that one said HELLO."""
    wide = [{f"m{k}": float(row) for k in range(500)} for row in range(1001)]
    thin = page_protocol.thinned(wide, HISTORY_ROWS, HISTORY_VALUES)
    assert thin[-1] is wide[-1] and sum(map(len, thin)) <= HISTORY_VALUES
    usual = [{f"m{k}": 1.0 for k in range(100)}] * 1001
    assert len(page_protocol.thinned(usual, HISTORY_ROWS, HISTORY_VALUES)) > HISTORY_ROWS / 2
    assert page_protocol.thinned([{}, wide[0]], 1, 1) == [wide[0]]
