"""Whatever a page sends, the kernel's half lives on, unharmed, with a drill and with an environment."""

import json
import math
import time

import comm
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from dshq_widget.contract import protocol
from dshq_widget.runtime import budget
from dshq_widget.training.trainer import Trainer
from dshq_widget.widget import drill_widget, page_files
from dshq_widget.widget.affordable import affordable
from dshq_widget.widget.drill_widget import DrillWidget
from dshq_widget.widget.kernel_show import KernelShow
from dshq_widget.widget.page_protocol import check_show
from tests.harness.browser.recorded_widget import RecordingComm, until
from tests.harness.counts import times

MARKUP = "<img src=x onerror=alert(1)>"

scalars = (
    some.none()
    | some.booleans()
    | some.integers()
    | some.floats()
    | some.text(max_size=30)
    | some.sampled_from([MARKUP, "__proto__", "constructor", "../../x", "\0", "x" * 100_000, 2**63, -(2**70), math.nan])
    | some.sampled_from([math.inf, -math.inf, 10**400, -(10**400), 1e308, [10**400], {"x": math.inf}])
)
buffers = some.binary(max_size=64)
values = some.recursive(
    scalars | buffers,
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(some.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
kinds = protocol.MESSAGES["page_to_kernel"]
fields = sorted({field for names in kinds.values() for field in names} | {"learning_rate", "hidden_sizes", "opponents"})
messages = some.fixed_dictionaries(
    {"type": some.sampled_from(sorted(kinds)) | values}, optional=dict.fromkeys(fields, values)
)
shows = some.dictionaries(some.sampled_from(sorted(protocol.SHOW_DEFAULTS)) | some.text(max_size=8), values)
states = some.dictionaries(
    some.sampled_from(["show", "snapshot", "policy", "status", "_esm", "seq", "controls", "layout"])
    | some.text(max_size=8),
    values | shows,
    max_size=4,
)
comm_data = some.one_of(
    messages.map(lambda content: {"method": "custom", "content": content}),
    values.map(lambda content: {"method": "custom", "content": content}),
    states.map(lambda state: {"method": "update", "state": state}),
    some.fixed_dictionaries(
        {"method": some.just("update"), "state": values, "buffer_paths": some.lists(values, max_size=3) | values}
    ),
    values,
)


class Untrained(Trainer):
    """Takes orders and settings as ever, but never starts a process: what is tested here is who may give them."""

    def start(self, **hyper: object) -> None:
        self.set_hyper(**hyper)

    def next_update(self, **hyper: object) -> None:
        self.set_hyper(**hyper)


class Unplayed(KernelShow):
    """Takes orders as ever, but never starts its process."""

    def _start(self) -> None:
        self._fixed = {"started": True}


@pytest.fixture(
    scope="module", params=["ball", "gym:tests.harness.games.gym_worlds:Easy-v0"], ids=["drill", "environment"]
)
def victim(request, tmp_path_factory):
    """One widget that has to live through all of it."""
    patch = pytest.MonkeyPatch()
    folder = tmp_path_factory.mktemp("static")
    (folder / "widget.js").write_text("export default {};\n")
    patch.setattr(page_files, "STATIC", folder)
    patch.setattr(drill_widget, "Trainer", Untrained)
    patch.setattr(drill_widget, "KernelShow", Unplayed)
    patch.setattr(comm, "create_comm", RecordingComm)
    made = DrillWidget(request.param)
    patch.undo()
    yield made
    made.close()


NUMBERS = [10**400, -(10**400), math.inf, -math.inf, math.nan, 1e308, 2**63, -1, True, [10**400], {"x": math.inf}]


def test_numbers_of_any_size_in_any_place_harm_nothing(victim):
    """Each field of each message, each setting of the show, each part of a snapshot."""
    for number in NUMBERS:
        for kind, names in kinds.items():
            for name in names:
                victim.comm.say({"type": kind, **dict.fromkeys(names, 1), name: number})
            victim.comm.say({"type": kind, **dict.fromkeys(names, number)})
        for key in ("pace", "gamma", "num_envs", "hidden_sizes", "opponents"):
            victim.comm.say({"type": "SET_HYPER", "key": key, "value": number})
        for name in protocol.SHOW_DEFAULTS:
            victim.comm.say({"state": {"show": {name: number}}}, method="update")
        victim.comm.say({"state": {"snapshot": {"state": b"", "tick": number}}}, method="update")
        assert_answers(victim)


def test_names_of_any_length_and_number_cost_no_seconds_and_fill_no_log(victim):
    """To look for the nearest word took a second a megabyte, and a second for 13,000 names."""
    long, many, begun = "ab" * 1_000_000, {f"k{k}": 1 for k in range(30_000)}, time.process_time()
    for content in ({"key": long}, {"key": "activation", "value": long}, {"key": "reward_weights", "value": many}):
        victim.comm.say({"type": "SET_HYPER", "value": 1, **content})
    for settings_of_a_page in (many, {long: 1}):
        victim.comm.say({"type": "START_TRAINING", **settings_of_a_page})
    victim.comm.say({"type": "START_FROM", "policy": long})
    for show in (many, {long: 1}, {"opponent": long}, {"mode": long}):
        victim.comm.say({"state": {"show": show}}, method="update")
    assert_answers(victim)
    assert time.process_time() - begun < 1
    told = [text for texts in victim._fence._logged.values() for _, text in texts]
    assert max(map(len, [*told, *victim._inbox._warned])) < 2000


def test_a_page_cannot_ask_for_processes_without_end(victim, monkeypatch):
    """Each costs memory; in Python one may have them."""
    monkeypatch.setattr(budget, "memory_limit", lambda *_: 2e9)
    most = budget.most_workers(2e9)
    for kind, content in (("SET_HYPER", {"key": "workers", "value": 256}), ("START_TRAINING", {"workers": "256"})):
        victim.comm.say({"type": kind, **content})
        assert_answers(victim)
        assert victim._trainer.config.workers == -1
    victim.comm.say({"type": "SET_HYPER", "key": "workers", "value": most})
    assert_answers(victim)
    assert victim._trainer.config.workers == most


@pytest.mark.parametrize("key", ["num-envs", "num_envs"])
def test_a_page_may_ask_for_few_copies_of_an_environment(monkeypatch, key):
    monkeypatch.setattr(budget, "memory_limit", lambda *_: 2e9)
    with Untrained("gym:tests.harness.games.gym_worlds:Easy-v0") as trainer:
        assert affordable({key: 16}, trainer) == {key: 16}
        with pytest.raises(ValueError, match="a page may ask for 16 at most, got 64"):
            affordable({key: 64}, trainer)
        trainer.set_hyper(num_envs=64)
        assert affordable({key: 64}, trainer) == {key: 64}


@pytest.mark.parametrize(
    ("algorithm", "values", "asked"),
    [
        ("ppo", {"num_envs": 65536, "rollout_length": 1024}, "17.7"),
        ("ppo", {"rollout_length": 4096, "memory": 512, "num_envs": 16384}, "37.1"),
        ("spo", {"spo.replay_buffer_size": 10_000_000}, "4.36"),
        ("spo", {"spo": {"num_particles": 4096, "replay_buffer_size": 4_000_000}}, "198"),
        ("dreamer", {"dreamer.ring": 100_000_000}, "146"),
        ("dreamer", {"dreamer": {"sequence": 1024, "batch": 1024}}, "435"),
    ],
)
def test_a_page_asks_for_no_more_memory_than_half_of_what_is_free(monkeypatch, algorithm, values, asked):
    monkeypatch.setattr(budget, "memory_available", lambda: 4e9)
    with Untrained("ball", algorithm=algorithm) as trainer:
        assert affordable({"num_envs": 65536}, trainer) if algorithm == "ppo" else affordable({"seed": 2}, trainer)
        sentence = (
            f"need {asked} GB of memory or more, and 4 GB are free, of which a page may ask for 2 GB: lower num_envs"
        )
        with pytest.raises(ValueError, match=sentence):
            affordable(values, trainer)


def test_what_a_person_chose_in_python_is_no_reason_to_refuse_the_rest(monkeypatch):
    with Untrained("ball", algorithm="spo") as trainer:
        trainer.set_hyper(**{"spo.replay_buffer_size": 1_000_000})
        monkeypatch.setattr(budget, "memory_available", lambda: 0.1e9)  # it is taken by now
        for values in ({"gamma": 0.9}, {"spo.replay_buffer_size": 900_000}, {}):
            assert affordable(values, trainer) == values
        with pytest.raises(ValueError, match="are free"):
            affordable({"spo.replay_buffer_size": 1_000_064}, trainer)


def assert_answers(victim):
    victim.comm.log.clear()
    victim.comm.say({"type": "HELLO"})
    until(lambda: victim.comm.customs("HISTORY") or not victim._sender.is_alive())
    assert victim._sender.is_alive(), "the sender thread ended"


@settings(
    max_examples=times(60, 15),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(said=some.lists(some.tuples(comm_data, some.lists(buffers, max_size=3)), min_size=1, max_size=25))
def test_no_message_harms_the_kernel(victim, said):
    drill, policy, esm = victim.drill, victim.policy["layers"], victim._esm
    for data, attached in said:
        victim.comm.handle_msg({"content": {"data": data}, "buffers": attached})
    assert_answers(victim)
    assert victim.drill is drill and victim._esm == esm
    assert victim.status == "idle"
    assert len(victim.policy["layers"]) >= 2 and victim.policy["layers"][0] == policy[0]
    for name, value in victim.show.items():
        assert check_show(name, value, victim._rivals.opponents) == value
    json.dumps(victim.show, allow_nan=False)
    json.dumps(victim.config["values"])
