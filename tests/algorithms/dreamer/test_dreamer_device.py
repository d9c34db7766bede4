"""Dreamer on a device, or a stand-in: the processor's bits, streams that never race, no wait in the hot path."""

import dataclasses
import json
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from dshq_kernels.play.loops import STATS
from dshq_widget.algorithms import dreamer as package
from dshq_widget.algorithms.dreamer import device_actor, ingest, replay_file, run
from dshq_widget.algorithms.dreamer.actor import Actor
from dshq_widget.algorithms.dreamer.device_actor import DeviceActor, make_actor, own_device
from dshq_widget.algorithms.dreamer.device_games import DeviceFrameGames
from dshq_widget.algorithms.dreamer.evaluator import by_policy
from dshq_widget.algorithms.dreamer.learner import DreamerLearner
from dshq_widget.algorithms.dreamer.model.agent import Dreamer, Player
from dshq_widget.algorithms.dreamer.settings import DreamerSettings
from dshq_widget.algorithms.dreamer.source import DreamerGames
from dshq_widget.cli import main
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.env.batch import compiled
from dshq_widget.learning.telemetry.report import merge
from dshq_widget.pixels import transfer_guard
from dshq_widget.pixels.commits import CommitManager
from dshq_widget.pixels.hot_path import HostWaits, hot_path
from dshq_widget.pixels.ring import UNKNOWN, ReplayRing
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.slots import WeightSlots
from dshq_widget.training.trainer import Trainer
from tests.harness.processes.learner_channel import Turns
from tests.harness.simulator import simulated
from tests.harness.streams import Race, Stream, Streams

GAMES, ROWS = 16, 64
SMALL = DreamerSettings(
    games=GAMES, ring=16 * 24, batch=2, sequence=4, prefill=0, starts=4, horizon=2, commit_stride=2, margin=2, ratio=0.1
)
PLACES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def on_device(drill="approach", device="cpu", rows=ROWS, seed=0, stride=8, margin=8, **how) -> DeviceActor:
    """The actor of a device; of "cpu" on the stand-in."""
    if device == "cuda":
        actor = make_actor(compiled(drill), GAMES, rows, device, seed, stride, margin, **how)
        assert isinstance(actor, DeviceActor)
        return actor
    games = DeviceFrameGames(compiled(drill), GAMES, torch.device("cpu"), seed, **how)
    return DeviceActor(games, ReplayRing(rows, GAMES), seed, CommitManager(stride, margin))


def on_processor(drill="approach", rows=ROWS, seed=0, stride=8, margin=8, **how) -> Actor:
    actor = make_actor(compiled(drill), GAMES, rows, "cpu", seed, stride, margin, **how)
    assert type(actor) is Actor
    return actor


def choices(n_actions: int, seed: int = 7):
    """Actions that are the same wherever they are asked for."""
    rng = np.random.default_rng(seed)
    return lambda frames, is_first: torch.from_numpy(rng.integers(0, n_actions, GAMES)).to(frames.device)


def play(actor: Actor, steps: int, seed: int = 7) -> np.ndarray:
    """Their stats, merged."""
    choose = choices(actor.games.n_actions, seed)
    with actor.turn():
        stats = [actor.step(choose) for _ in range(steps)]
    return merge(actor.on_host(stats))


def same_rows(one: ReplayRing, other: ReplayRing) -> None:
    assert one.total == other.total
    for name in ("obs", *one.rows):
        assert torch.equal(getattr(one, name).cpu(), getattr(other, name).cpu()), name


class TestGames:
    @pytest.mark.parametrize("device", PLACES)
    @pytest.mark.parametrize(
        ("drill", "how"),
        [
            ("bandit", {}),
            ("approach", {"gamma": 0.9, "reward_scale": 3.0}),
            ("approach", {"repeat": 4, "gamma": 0.9}),
            ("approach", {"weights": {"touch": 2.5}}),
            ("ball", {"opponent": "chaser"}),
            ("ball", {"opponent": "random", "repeat": 3}),
            ("ball", {"opponent": "idle"}),
        ],
    )
    def test_rows_are_those_of_the_processor(self, drill, how, device):
        there, here = on_device(drill, device, **how), on_processor(drill, **how)
        ended = 0
        for part in range(6):
            found, wanted = play(there, 60, part), play(here, 60, part)
            same_rows(there.ring, here.ring)
            assert np.allclose(found, wanted), dict(zip(STATS, zip(found, wanted, strict=False), strict=False))
            ended += int(wanted[STATS.index("episodes")])
        there.ring.check_invariants()
        assert ended >= GAMES and there.games.made_with() == here.games.made_with()
        assert (there.commits.write_t, there.commits.committed_t) == (359, 359)

    @pytest.mark.parametrize("device", PLACES)
    def test_a_file_of_either_continues_on_the_other(self, device):
        """From the processor to the device and back: the rows of an actor that never stopped."""
        whole, first = on_processor("ball", opponent="chaser"), on_processor("ball", opponent="chaser")
        second = on_device("ball", device, seed=5, opponent="chaser")
        third = on_processor("ball", seed=6, opponent="chaser")
        play(whole, 50, 1), play(first, 50, 1)
        for before, after, seed in ((first, second, 2), (second, third, 3)):
            state = before.state() | replay_file.packed(before.ring)
            assert replay_file.unpack(state, after.ring, after.games.n_actions) and after.restore(state)
            assert after.commits.committed_t == before.commits.committed_t
            play(after, 50, seed), play(whole, 50, seed)
        same_rows(third.ring, whole.ring)
        assert not on_device("approach", device).restore(third.state()), "other rules"

    def test_new_episodes_begin_an_empty_ring(self):
        actor = on_device("ball")
        play(actor, 30)
        actor.begin_anew()
        assert (actor.ring.total, actor.commits.committed_t) == (0, -1)
        play(actor, 20)
        actor.ring.check_invariants()
        assert actor.ring.is_first[0].all() and not actor.ring.reward[0].any()


IN_THE_SIMULATOR = """
import os
import numpy as np, torch
from dshq_widget.algorithms.dreamer import device_games
from dshq_widget.algorithms.dreamer.actor import Actor
from dshq_widget.algorithms.dreamer.device_actor import DeviceActor
from dshq_widget.algorithms.dreamer.games import FrameGames
from dshq_widget.env.batch import compiled
from dshq_widget.gpu.cuda.games import CudaGames
from dshq_widget.pixels.commits import CommitManager
from dshq_widget.pixels.ring import ReplayRing

device_games.make_games = CudaGames
drill, n, rows = compiled("ball"), 1, 2
how = {"opponent": "chaser", "repeat": 2, "gamma": 0.9}
there = DeviceActor(
    device_games.DeviceFrameGames(drill, n, torch.device("cpu"), 3, **how), ReplayRing(rows, n), 0, CommitManager(2, 0)
)
here = Actor(FrameGames(drill, n, 3, **how), ReplayRing(rows, n), 0, CommitManager(2, 0))
there.ring.assert_alignment()
drawn = {"obs": there.ring.obs, **there.ring.rows}
addresses = {name: row.data_ptr() for name, row in drawn.items()}
rng = np.random.default_rng(0)
for t in range(2 * rows + 1):
    if t == rows:
        os.environ["DSHQ_DEBUG"] = "1"  # each tensor has been handed to numba once
    there.ring.obs_slot().fill_(0xA5)
    action = torch.from_numpy(rng.integers(0, drill.spec.n_actions, n))
    with there.turn():
        stats = there.step(lambda frames, is_first: action)
    wanted = here.step(lambda frames, is_first: action)
    assert np.allclose(stats.numpy(), wanted)
    for name, row in drawn.items():
        twin = {"obs": here.ring.obs, **here.ring.rows}[name]
        assert torch.equal(row[t % rows], twin[t % rows]), (t, name)
        assert row.data_ptr() == addresses[name] and addresses[name] % 256 == 0
    assert len(there.ring.obs_slot(t).unique()) > 2, "something is drawn"
assert there.commits.committed_t == here.commits.committed_t == 3
print("same")
"""


def test_the_rules_and_the_renderer_as_kernels_write_the_rows_of_the_processor():
    assert simulated(IN_THE_SIMULATOR) == "same"


def dreaming(actor: Actor, settings: DreamerSettings = SMALL, seed: int = 0) -> tuple[DreamerGames, Dreamer]:
    device = actor.ring.device
    dreamer = Dreamer(settings, actor.games.n_actions, seed, device)
    player = Player(dreamer, GAMES, torch.Generator(device).manual_seed(seed + 2))
    return DreamerGames(actor, player, settings, seed, print), dreamer


def learn(source: DreamerGames, dreamer: Dreamer, updates: int) -> list[dict[str, float]]:
    found = []
    while len(found) < updates:
        if (batch := source.next(None, None, 0)) is not None:
            found.append(dreamer.learn(batch.samples) | {"decisions": batch.decisions})
    return found


class TestTurns:
    def test_a_run_on_a_device_is_the_run_on_the_processor(self):
        one, two = (dreaming(made("bandit", rows=SMALL.rows, stride=2, margin=2)) for made in (on_device, on_processor))
        found, wanted = learn(*one, 8), learn(*two, 8)
        assert found == wanted and wanted[0]["decisions"] > 0
        assert one[0].actor.ring.total > SMALL.rows, "the ring went round"
        state, other = one[0].state(), dreaming(on_processor("bandit", rows=SMALL.rows, stride=2, margin=2))
        other[0].restore(state)
        other[1].restore(one[1].state())
        assert other[0].state()["train.dreamer.counts"].tolist() == state["train.dreamer.counts"].tolist()
        assert learn(*other, 3) == learn(*one, 3)

    @pytest.mark.parametrize("device", PLACES)
    def test_a_ring_remembers_and_is_kept_up_to_date(self, device):
        settings = dataclasses.replace(SMALL, context="stored", prefill=32)
        made = on_device if device == "cuda" else on_processor
        actor = made("bandit", *(("cuda",) if device == "cuda" else ()), rows=64, memory=settings.memory)
        source, dreamer = dreaming(actor, settings)
        learner, ring = DreamerLearner(dreamer, 1, print, actor.ring), actor.ring
        assert source.next(None, None, 0) is None and ring.total == 16
        assert (ring.remembered["z"][:2] == UNKNOWN).all(), "random play remembers nothing"
        h, z = source.player.memory()
        assert torch.equal(ring.remembered["h"][15], h.half()) and torch.equal(ring.remembered["z"][15], z)
        batch = source.next(None, None, 0)
        while batch is None:
            batch = source.next(None, None, 0)
        before = {name: row.clone() for name, row in ring.remembered.items()}
        assert learner.update(batch, SimpleNamespace(rate=1.0))
        row, game = batch.samples["row"], batch.samples["game"]
        renewed = torch.zeros_like(before["z"][..., 0], dtype=torch.bool)
        renewed[row, game] = True
        assert torch.equal((ring.remembered["h"] != before["h"]).any(-1), renewed)

    def test_a_run_with_a_memory_continues_exactly(self):
        settings = dataclasses.replace(SMALL, context="stored")
        one, other = (
            dreaming(on_processor("bandit", rows=64, stride=2, margin=2, memory=settings.memory), settings)
            for _ in range(2)
        )

        def learned(source: DreamerGames, dreamer: Dreamer, updates: int) -> list[dict[str, float]]:
            learner, found = DreamerLearner(dreamer, 1, print, source.actor.ring), []
            while len(found) < updates:
                if (batch := source.next(None, None, 0)) is not None:
                    found.append(learner.update(batch, SimpleNamespace(rate=1.0)))
            return found

        learned(*one, 4)
        other[0].restore(one[0].state())
        other[1].restore(one[1].state())
        assert learned(*other, 3) == learned(*one, 3)

    def test_random_numbers_of_another_kind_of_device_leave_the_seed(self):
        """A GPU's generator has 16 bytes, a processor's has 5,056."""
        source, dreamer = dreaming(on_device("bandit", rows=SMALL.rows))
        state = dreamer.state() | {"chance": torch.zeros(16, dtype=torch.uint8)}
        before = dreamer.chance.get_state()
        dreamer.restore(state)
        assert torch.equal(dreamer.chance.get_state(), before)
        source.player.restore(source.player.state() | {"draws": torch.zeros(16, dtype=torch.uint8)})

    def test_games_on_the_processor_ask_a_policy_elsewhere(self):
        dreamer = Dreamer(SMALL, 3, 0)
        frames, first = torch.zeros(4, 1, 72, 20, dtype=torch.uint8), torch.ones(4, dtype=torch.bool)
        action = by_policy(dreamer, 4, 0)(frames, first)
        assert action.shape == (4,) and action.device.type == "cpu"


class TestStreams:
    """Actor and learner on streams of their own: what each may use is ordered by events, and by nothing less."""

    @staticmethod
    def run(monkeypatch, *, commits=True, begin=True, end=True):
        with Streams() as streams:
            streams.patch(monkeypatch)
            actor = on_device("bandit", rows=SMALL.rows)
            actor.commits = CommitManager(SMALL.commit_stride, 0, "cuda")
            actor.stream = Stream("actor")
            t = iter(range(10**6))
            actor.games._painter = SimpleNamespace(draw=lambda out: out.fill_(next(t) % 251))
            source, dreamer = dreaming(actor)
            streams.watch("frames", actor.ring.obs, SMALL.rows)
            for name, row in actor.ring.rows.items():
                streams.watch(name, row, SMALL.rows)
            for name, each in dreamer.optimisers.items():
                streams.watch(f"weights of the {name}", each.weights)
            learner = streams.current()
            if not commits:
                actor.commits.wait_for_commit = lambda target: None
            if not begin:
                monkeypatch.setattr(actor.stream, "wait_stream", lambda other: None)
            if not end:
                monkeypatch.setattr(learner, "wait_stream", lambda other: None)
            learn(source, dreamer, 12)
            assert actor.ring.total > 2 * SMALL.rows
            return streams

    def test_nothing_races(self, monkeypatch):
        streams = self.run(monkeypatch)
        for memory in streams.memories[:2]:
            assert all("actor" in write for write in memory.writes)
            assert any("learner" in read for read in memory.reads), "the learner has read what the actor wrote"

    @pytest.mark.parametrize(
        ("left_out", "what"),
        [
            ("commits", "learner reads part .* of frames, which actor"),
            ("begin", "actor (writes part .* of frames|reads part 0 of weights of the model), which learner"),
            ("end", "learner writes part 0 of weights of the .*, which actor"),
        ],
    )
    def test_each_wait_is_needed(self, monkeypatch, left_out, what):
        with pytest.raises(Race, match=what):
            self.run(monkeypatch, **{left_out: False})

    def test_a_gpus_actor_has_a_stream_events_and_strides(self, monkeypatch):
        """What `make_actor` puts together, with a ring and games of the processor."""
        monkeypatch.setattr(device_actor, "ReplayRingCUDA", lambda rows, n, device, memory: ReplayRing(rows, n))
        made = lambda drill, n, device, seed, **how: DeviceFrameGames(drill, n, torch.device("cpu"), seed, **how)  # noqa: E731
        monkeypatch.setattr(device_actor, "DeviceFrameGames", made)
        with Streams() as streams:
            streams.patch(monkeypatch)
            monkeypatch.setattr(torch.cuda, "Stream", lambda: Stream("actor"))
            actor = make_actor(compiled("bandit"), GAMES, ROWS, "cuda", 0, 4, 3)
            streams.watch("actions", actor.ring.action, ROWS)
            play(actor, 9)
        assert type(actor) is DeviceActor and (actor.commits.committed_t, actor.commits.margin) == (7, 3)
        written = [write.keys() for write in streams.memories[0].writes]
        assert all(written[t] == {"actor"} for t in range(9)) and not any(written[9:])
        same_rows(actor.ring, (here := on_processor("bandit"), play(here, 9))[0].ring)

    def test_a_commit_orders_nothing_after_it(self, monkeypatch):
        """The gate itself: rows up to the commit may be read, the row after it may not."""
        with Streams() as streams:
            streams.patch(monkeypatch)
            ring, commits, actor = ReplayRing(8, 8), CommitManager(4, 0, "cuda"), Stream("actor")
            streams.watch("frames", ring.obs, 8)
            values = [torch.zeros(8, dtype=row.dtype) for row in ring.rows.values()]
            for t in range(6):
                with streams.on(actor):
                    ring.obs_slot().fill_(t)
                    assert commits.mark_written(ring.push_step(*values), actor) == (t == 3)
            commits.wait_for_commit(commits.committed_t)
            found = ring.sample_sequences(16, 2, torch.Generator().manual_seed(0), commits.committed_t)
            assert found["obs"].max() == 3
            with pytest.raises(Race, match="learner reads part 4 of frames"):
                ring.obs[4].clone()

    def test_rows_that_were_there_already_are_committed(self, monkeypatch):
        with Streams() as streams:
            streams.patch(monkeypatch)
            commits = CommitManager(4, 0, "cuda")
            commits.continue_after(11)
            assert (commits.write_t, commits.committed_t) == (10, 7)
            streams.current().tick()
            commits.wait_for_commit(7, Stream("another"))
            assert [commits.mark_written(t, Stream("actor")) for t in (11, 12)] == [True, False]


class TestHotPath:
    """DSHQ_DEBUG=1: a wait for the device is an error where it stands."""

    WAITS = {
        "cpu": lambda t: t.cpu(),
        "numpy": lambda t: t.numpy(),
        "item": lambda t: t[0].item(),
        "tolist": lambda t: t.tolist(),
        "an array": lambda t: np.asarray(t),
        "float": lambda t: float(t[0]),
        "a test": lambda t: 1 if t[0] else 0,
        "a range": lambda t: range(t.long()[0]),
        "nonzero": lambda t: t.nonzero(),
        "index of bools": lambda t: t[t > 0],
        "assignment by bools": lambda t: t.__setitem__((0, t[0] > 0), 1.0),
        "another device": lambda t: t.to("meta"),
    }

    @pytest.mark.parametrize("device", PLACES)
    @pytest.mark.parametrize("wait", list(WAITS))
    def test_a_wait_is_an_error(self, monkeypatch, wait, device):
        t = torch.ones(3, device=device)
        if device == "cpu":
            with hot_path():
                self.WAITS[wait](t)
        monkeypatch.setenv("DSHQ_DEBUG", "1")
        with pytest.raises(HostWaits, match="waits for the device in the hot path"), hot_path():
            self.WAITS[wait](t)
        assert float(t[0]) == 1.0, "afterwards it is allowed"

    def test_a_players_rows_wait_for_nothing(self, monkeypatch):
        """With torch's own operations around games that are no tensors; the games' kernels: see the simulator."""
        source, _ = dreaming(on_device("bandit", rows=SMALL.rows, stride=2, margin=2))
        games = source.actor.games
        monkeypatch.setattr(games, "_decide", lambda actions: torch.zeros(games.n_terms, GAMES))
        monkeypatch.setattr(games.games, "reset", lambda chosen: None)
        monkeypatch.setattr(games, "draw", lambda out: out.fill_(0x1B))
        monkeypatch.setenv("DSHQ_DEBUG", "1")
        while source.next(None, None, 0) is None:
            pass
        monkeypatch.setattr(games, "draw", lambda out: out.sum().item())
        with pytest.raises(HostWaits, match="`item`"):
            while source.next(None, None, 0) is None:
                pass

    def test_the_actor_on_the_processor_is_not_watched(self, monkeypatch):
        monkeypatch.setenv("DSHQ_DEBUG", "1")
        play(on_processor("bandit"), 4)


class TestSettings:
    def test_they_reach_the_actor(self):
        actor = on_processor("bandit", rows=40, stride=4, margin=3)
        found = []
        for _ in range(16):
            found.append(actor.sample(4, 6, torch.Generator().manual_seed(0)) is not None)
            play(actor, 1)
        assert found.index(True) == 12, "6 rows and a margin of 3 are 9, released by fours"


class TestIngest:
    def test_copies_are_those_of_a_burst_and_a_sample(self, monkeypatch):
        class Counted(nullcontext):
            def __enter__(self):
                return ["Memcpy DtoH"] * (ring.total - before)

        actor = on_device("bandit")
        play(actor, 48)
        ring, before = actor.ring, actor.ring.total - 3
        monkeypatch.setattr(transfer_guard, "counted", Counted)
        assert ingest.host_copies(actor) == 3 and ring.total == 48 + ingest.BURST

    def test_without_a_gpu_it_says_so(self, monkeypatch, capsys):
        if torch.cuda.is_available():
            pytest.skip("there is a GPU here")
        assert main.main(["ingest", "bandit", "--seconds", "0.05", "--device", "cuda"]) == 1
        assert "device=cuda is set, but" in capsys.readouterr().err
        assert own_device("auto") == "cpu"
        monkeypatch.setattr(device_actor, "choose_device", lambda wanted: "cuda")
        monkeypatch.setattr(device_actor, "why_no_rules", lambda device: "no compiler")
        assert own_device("auto") == "cpu"
        with pytest.raises(RuntimeError, match=r"games cannot run there \(no compiler\): leave out --device cuda"):
            own_device("cuda")

    @pytest.mark.gpu
    def test_on_a_gpu_nothing_is_copied(self, capsys):
        assert main.main(["ingest", "approach", "--seconds", "1", "--device", "cuda", "--guard", "--json"]) == 0
        found = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
        assert (found["host_copies"], found["device"], found["games"]) == (0, "cuda", 4096)


class TestRun:
    def test_a_device_that_is_not_here_is_a_sentence(self, monkeypatch):
        if torch.cuda.is_available():
            pytest.skip("there is a GPU here")
        assert "cuda" not in package.ALGORITHM.refuses and "device" in package.ALGORITHM.reads
        here = Trainer("bandit", algorithm="dreamer", device="cuda")
        with here, pytest.raises(RuntimeError, match="device=cuda is set, but this machine has no NVIDIA GPU"):
            here.train_for(updates=1, progress=False)
        monkeypatch.setattr(package, "check_device", lambda wanted: None)
        odd = Trainer("bandit", algorithm="dreamer", device="cuda", dreamer={"games": 24})
        with odd, pytest.raises(RuntimeError, match="tiles of 16: expected a multiple of it, got 24"):
            odd.train_for(updates=1, progress=False)

    def test_a_run_plays_learns_saves_and_goes_on_elsewhere(self, monkeypatch, tmp_path):
        """`--device cuda` in the learner's own loop; "cpu:0" stands in for the GPU. The file continues on a CPU."""
        monkeypatch.setattr(run, "own_device", lambda wanted: {"cuda": "cpu:0"}[wanted])
        monkeypatch.setattr(device_actor, "ReplayRingCUDA", lambda rows, n, device, memory: ReplayRing(rows, n))
        monkeypatch.setattr(torch.cuda, "Stream", lambda: None)
        made = []
        monkeypatch.setattr(run, "make_actor", lambda *given, **how: made.append(make_actor(*given, **how)) or made[-1])
        drill = compiled("bandit")
        config = TrainConfig(**package.ALGORITHM.fixed, device="cuda", autosave_seconds=0, evaluate_seconds=3600)
        block = SharedBlock.create(WeightSlots.nbytes_for(floats := PolicySpec.for_config(drill.spec, config).floats))
        WeightSlots.create(block, floats)
        job = {"drill": drill.to_json(), "hyper": config.to_json(), "threads": 1, "autosave": str(tmp_path / "a.dshq")}
        job |= {"algorithm": "dreamer", "algorithm_settings": SMALL.to_json(), "machine": {"cpu": 2.0, "memory": 8e9}}
        run.run(channel := Turns(4), job, {"weights": block})
        assert type(made[0]) is DeviceActor and "WARNING" not in channel.kinds(), channel.said
        onward = {**job, "hyper": config.to_json() | {"device": "cpu"}, "resume": job["autosave"]}
        run.run(channel := Turns(2), onward, {"weights": block})
        block.close()
        assert type(made[1]) is Actor and "WARNING" not in channel.kinds(), channel.said
        assert made[1].ring.total > made[0].ring.total > 0
        made[1].ring.check_invariants()

    @pytest.mark.gpu
    def test_it_trains_on_a_gpu(self, tmp_path):
        own = {"batch": 4, "sequence": 8, "prefill": 64, "starts": 8, "horizon": 2}
        with Trainer("approach", algorithm="dreamer", device="cuda", dreamer=own) as trainer:
            trainer.train_for(updates=20, progress=False)
            assert trainer.metrics["loss_image"] > 0
            trainer.save(tmp_path / "a.dshq")
        with Trainer(str(tmp_path / "a.dshq"), device="cpu") as trainer:
            trainer.train_for(updates=2, progress=False)

    @pytest.mark.gpu
    def test_the_loop_on_a_gpu_copies_nothing_and_waits_for_nothing(self, monkeypatch):
        """Rows by the policy and a sample, through the profiler and torch's own watch."""
        source, dreamer = dreaming(on_device("approach", "cuda", rows=SMALL.rows, stride=2, margin=2))
        learn(source, dreamer, 4)
        monkeypatch.setenv("DSHQ_DEBUG", "1")
        with transfer_guard.assert_no_host_memcpy(), source.actor.turn():
            for _ in range(16):
                source.actor.step(source.player)
            assert source.actor.sample(2, 4, source.chance) is not None
