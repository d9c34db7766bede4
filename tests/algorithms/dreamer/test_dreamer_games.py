"""Frames into the replay ring: rows in the arriving form, drawn where they stay, sampled only when they are whole."""

import json
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from benchmarks.dreamer import cleared
from benchmarks.dreamer_heading import Unmarked
from dshq_kernels.play.loops import STATS
from dshq_widget.algorithms.dreamer import replay_file
from dshq_widget.algorithms.dreamer.actor import Actor
from dshq_widget.algorithms.dreamer.games import FrameGames
from dshq_widget.algorithms.dreamer.ingest import ingest
from dshq_widget.algorithms.dreamer.model.sizes import STRIDE, rows_needed, suits
from dshq_widget.algorithms.dreamer.run import new_settings
from dshq_widget.algorithms.dreamer.settings import DreamerSettings
from dshq_widget.algorithms.dreamer.source import COUNTS, SAMPLING, DreamerGames
from dshq_widget.cli import main
from dshq_widget.contract.setting import ConfigError
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.env.batch import compiled
from dshq_widget.learning.saved import fingerprint
from dshq_widget.pixels import transfer_guard
from dshq_widget.pixels.ring import ReplayRing
from tests.harness.frames import frames as seen
from tests.harness.games.small_drill import drill_with


def actor(drill="bandit", games=16, capacity=512, seed=0, **how) -> Actor:
    return Actor(FrameGames(compiled(drill), games, seed, **how), ReplayRing(capacity, games), seed)


class TestRows:
    def test_a_row_holds_what_arrived_and_the_last_frame_of_an_episode_has_one(self):
        """Against a batch of the same games that is stepped by hand."""
        played, twin = actor(), FrameGames(compiled("bandit"), 16, 0)
        for _ in range(210):
            played.step(played.random)
        ring = played.ring
        ring.check_invariants()
        frames, reward, over, episode = np.empty((16, 1, 72, 20), np.uint8), np.zeros(16), np.zeros(16, bool), 0
        batch = twin.batch
        for t in range(210):
            twin.draw(frames)
            assert np.array_equal(ring.obs_slot(t).numpy(), frames), "also the terminal frame"
            first = t in (0, 101, 202)
            assert (ring.is_first[t] == first).all() and (ring.reward[t].numpy() == reward).all()
            assert (ring.continues[t] == 1).all(), "a time-out continues"
            episode += first and t > 0
            assert (ring.episode_id[t] == episode).all()
            paid, _, terminated, truncated = batch.step(ring.action[t].numpy()[:, None])
            if over.all():
                batch.reset(over)
                reward, over = np.zeros(16), np.zeros(16, bool)
            else:
                reward, over = paid[:, 0], terminated | truncated
            assert over.all() == (t in (99, 200))

    def test_a_terminated_episode_does_not_continue(self):
        played = actor("approach", capacity=1024, practice=True)
        stats = sum(played.step(played.random)[: len(STATS)] for _ in range(600))
        ring = played.ring
        ring.check_invariants()
        rows = slice(0, 600)
        ended, over = ring.is_first[1:600], ring.continues[rows] == 0
        touched = ring.reward[rows] > 0.9
        assert touched.any() and (ring.is_first[rows].sum() - 16 - stats[STATS.index("episodes")]).abs() <= 16
        assert over[touched].all(), "the touch arrives with its own frame"
        assert (over & ~touched).any(), "some ran out of time, which is an end"
        assert torch.equal(ended, over[:-1])
        assert stats[STATS.index("agent_steps")] == 600 * 16 - ended.sum(), "a reset is no decision"

    def test_frames_are_those_of_the_renderer(self):
        games = FrameGames(compiled("ball"), 24, 3)
        out = np.empty((24, 1, 72, 20), np.uint8)
        games.draw(out)
        wanted = seen(compiled("ball"), games.batch.tiles)[:24]
        assert np.array_equal(out, wanted) and len(np.unique(out)) > 4

    @pytest.mark.parametrize("drill", ["approach", "ball"])
    def test_an_action_is_kept_for_some_decisions_or_until_the_end(self, drill):
        """Against a twin that takes the same decisions one by one and waits where it is over."""
        how = {"opponent": "idle", "shaping": False}
        kept, twin = (FrameGames(compiled(drill), 16, 3, repeat=repeat, **how) for repeat in (4, 1))
        chance, ended = np.random.default_rng(0), 0
        for _ in range(160):
            actions, anew = chance.integers(0, kept.n_actions, 16), twin.over.copy()
            words, reward, terminal, decided = twin.batch.state_words().copy(), np.zeros(16), np.zeros(16, bool), 0
            over = anew.copy()
            for _ in range(4):
                before, waiting = twin.batch.state_words().copy(), over.copy()
                twin.over = np.zeros(16, bool)
                twin.step(actions)
                twin.batch.state_words()[:, :, waiting] = before[:, :, waiting]
                reward[~waiting] += twin.arrival.reward[~waiting]
                terminal |= ~waiting & (twin.arrival.continues == 0)
                over, decided = over | twin.over, decided + (~waiting).sum()
            twin.batch.state_words()[:, :, anew] = words[:, :, anew]
            if anew.any():
                twin.batch.reset(anew)
            twin.over = over & ~anew
            stats = kept.step(actions)
            assert np.array_equal(kept.over, twin.over) and stats[STATS.index("agent_steps")] == decided
            assert np.array_equal(kept.batch.state_words(), twin.batch.state_words())
            assert np.allclose(kept.arrival.reward, reward) and np.array_equal(kept.arrival.continues == 0, terminal)
            ended += kept.over.sum()
        assert ended > 8

    def test_the_other_side_is_played_by_the_opponent(self):
        games = FrameGames(compiled("ball"), 16, 0, opponent="chaser", practice=False)
        seen = 0
        for _ in range(400):
            stats = games.step(np.zeros(16))
            seen += (games.results < 0).sum()
        assert seen > 10 and stats.shape == games.stats().shape
        with pytest.raises(ConfigError, match="opponent must be one of random, idle, chaser.*got 'nobody'"):
            FrameGames(compiled("ball"), 16, 0, opponent="nobody")

    def test_the_state_continues_exactly(self):
        one = actor("approach")
        for _ in range(150):
            one.step(one.random)
        two = actor("approach", seed=9)
        assert two.restore(one.state())
        for _ in range(50):
            a, b = (each.step(each.random) for each in (one, two))
            assert np.array_equal(a, b)
        last = [each.ring.obs_slot(each.ring.total - 1) for each in (one, two)]
        assert torch.equal(*last)
        assert not actor("approach", games=32).restore(one.state())

    def test_a_file_with_other_reward_terms_is_continued(self):
        state = FrameGames(compiled("approach"), 16, 0).state()
        state["train.running"] = np.column_stack([state["train.running"], np.ones(16)])
        games = FrameGames(compiled("approach"), 16, 0)
        assert games.restore(state)
        assert len(games.step(np.zeros(16, np.int64))) == len(games.stats())

    def test_sums_of_other_games_are_refused_before_a_game_is_taken_over(self):
        state, games = FrameGames(compiled("approach"), 16, 0).state(), FrameGames(compiled("approach"), 16, 1)
        before = games.state()["train.tiles"]
        with pytest.raises(ValueError, match="is not that of 16 games"):
            games.restore(state | {"train.running": state["train.running"][:3]})
        assert np.array_equal(games.state()["train.tiles"], before)

    def test_games_of_another_shape_leave_the_ring_empty(self):
        warnings: list[str] = []
        one, two = actor(), actor()
        for _ in range(3):
            one.step(one.random)
        state = saved(one)
        state["train.tiles"] = state["train.tiles"][:-1]
        DreamerGames(two, None, DreamerSettings(games=16), 0, warnings.append).restore(state)
        assert len(warnings) == 1 and "another shape" in warnings[0] and two.ring.total == 0
        two.step(two.random)
        assert two.ring.total == 1


def saved(played: Actor) -> dict[str, np.ndarray]:
    """What a file has of it, but for the player."""
    made = fingerprint.packed(played.games.made_with())
    return played.state() | replay_file.packed(played.ring) | made | {COUNTS: np.zeros(4)}


class TestFingerprint:
    """A ring whose rewards were paid otherwise, or whose games were played otherwise, is not learned from."""

    @pytest.mark.parametrize(
        ("how", "changed"),
        [
            ({"weights": {"goal": 5.0}}, "reward weights"),
            ({"gamma": 0.9}, "discount"),
            ({"repeat": 2}, "repeat"),
            ({"reward_scale": 2.0}, "reward scale"),
            ({"opponent": "chaser"}, "opponent"),
        ],
    )
    def test_a_file_of_other_settings_leaves_it_empty(self, how, changed):
        warnings: list[str] = []
        one, two = actor("ball"), actor("ball", **how)
        for _ in range(3):
            one.step(one.random)
        DreamerGames(two, None, DreamerSettings(games=16), 0, warnings.append).restore(saved(one))
        assert two.ring.total == 0 and not two.games.arrival.reward.any()
        assert warnings == [
            f"the replay begins empty, since it was made with other values of: {changed}, and the games start over"
        ]

    def test_frames_without_a_nose_are_not_learned_from(self):
        warnings: list[str] = []
        one, two = actor(Unmarked), actor("approach")
        one.step(one.random)
        DreamerGames(two, None, DreamerSettings(games=16), 0, warnings.append).restore(saved(one))
        assert two.ring.total == 0 and "other values of: noses in frames" in warnings[0]
        assert "noses in frames" not in actor("bandit").games.made_with(), "other drills' files stay as they are"

    def test_a_file_of_an_earlier_release_leaves_it_empty(self):
        warnings: list[str] = []
        one, two = actor(), actor()
        one.step(one.random)
        older = {name: row for name, row in saved(one).items() if name != fingerprint.NAME}
        DreamerGames(two, None, DreamerSettings(games=16), 0, warnings.append).restore(older)
        assert two.ring.total == 0 and "does not say what its rewards were paid for" in warnings[0]

    def test_counts_of_a_file_are_those_that_a_run_can_have(self):
        """With a debt without end the learner only learned, with one below 0 it only played."""
        one, settings = actor(), DreamerSettings(games=16)
        one.step(one.random)
        player, chance = SimpleNamespace(restore=lambda _: None), torch.Generator().manual_seed(1)
        for counts, due in (([1e300] * 4, settings.batch * settings.sequence + settings.ratio * 16), ([-1e300] * 4, 0)):
            source = DreamerGames(actor(), player, settings, 0, print)
            source.restore(saved(one) | {SAMPLING: chance.get_state().numpy(), COUNTS: np.array(counts)})
            assert source.due == due
            assert {source.replayed, source.played, source._decisions} == {2**53 if due else 0}

    @pytest.mark.parametrize(("drill", "kept"), [("approach", 0), ("bandit", 40)])
    def test_another_discount_in_a_run_empties_it_where_potentials_are_paid(self, drill, kept):
        warnings: list[str] = []
        settings = DreamerSettings(games=16, discount_horizon=10)
        played = actor(drill, gamma=settings.discount)
        for _ in range(40):
            played.step(played.random)
        source = DreamerGames(played, None, settings, 0, warnings.append)
        take = new_settings(SimpleNamespace(change=lambda settings: None), source).take
        take({"horizon": 5})
        assert played.ring.total == 40 and not warnings
        take({"discount_horizon": 5})
        assert played.ring.total == kept and len(warnings) == (not kept)
        for _ in range(40):
            played.step(played.random)
        played.ring.check_invariants()
        found = played.sample(4, 8, torch.Generator().manual_seed(0))
        assert found is not None and (played.ring.is_first[0] | (kept > 0)).all()


def test_a_memory_is_cleared_every_so_many_steps_of_an_episode():
    heard: list[list[bool]] = []
    policy = cleared(lambda frames, is_first: heard.append(is_first.tolist()) or is_first, 3)
    for t in range(8):
        policy(torch.zeros(2), torch.tensor([t == 0, t in (0, 4)]))
    one, other = (list(flags) for flags in zip(*heard, strict=True))
    assert one == [t % 3 == 0 for t in range(8)] and other == [t in (0, 3, 4, 7) for t in range(8)]


def test_potentials_are_paid_with_the_discount_of_now():
    settings = DreamerSettings(repeat=4, discount_horizon=10)
    played = actor("approach", games=2, repeat=4, gamma=settings.discount)
    assert played.games.batch.gamma == pytest.approx(0.9**0.25)
    source = DreamerGames(played, None, settings, 0, print)
    taken: list[DreamerSettings] = []
    dreamer = SimpleNamespace(change=taken.append)
    new_settings(dreamer, source).take({"discount_horizon": 5})
    assert taken[-1].discount == pytest.approx(0.8)
    assert played.games.batch.gamma == pytest.approx(0.8**0.25)


class TestSampling:
    def test_nothing_is_sampled_before_it_is_committed(self):
        played = actor()
        generator = torch.Generator().manual_seed(0)
        for k in range(STRIDE * 4):
            found = played.sample(4, 8, generator)
            assert (found is not None) == (k >= 2 * STRIDE), "a stride is left alone"
            played.step(played.random)

    def test_a_running_actor_never_overwrites_what_is_read(self):
        """The smallest ring, an actor in a thread: every window is one game's, in order."""
        length = 12
        played = actor(games=8, capacity=rows_needed(length))
        numbers = iter(range(10**9))
        count = lambda frames, is_first: torch.full((8,), next(numbers))  # noqa: E731
        played.games.n_actions = 10**9
        played.games.step = lambda actions: played.games.stats()
        done = threading.Event()

        def play() -> None:
            while not done.is_set():
                played.step(count)
                time.sleep(0.0003)  # as long as drawing takes

        thread = threading.Thread(target=play)
        thread.start()
        generator, windows = torch.Generator().manual_seed(0), []
        try:
            while played.ring.total < 20 * played.ring.capacity:
                found = played.sample(16, length, generator)
                windows += [] if found is None else [found["action"]]
        finally:
            done.set()
            thread.join()
        assert all(((window[1:] - window[:-1]) == 1).all() for window in windows)
        assert len(windows) > 10

    def test_a_ring_for_other_games_is_a_sentence(self):
        with pytest.raises(ValueError, match="expected a ring for 16 games, got one for 8"):
            Actor(FrameGames(compiled("bandit"), 16, 0), ReplayRing(64, 8), 0)


def stands_still(s, i):
    s.x[i] = 0.5


class TestIngest:
    def test_it_measures_beside_memcpy(self, capsys):
        assert main.main(["ingest", "bandit", "--seconds", "0.2", "--json", "--guard"]) == 0
        found = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
        assert found["frames_per_second"] > 1000 and "no slot moved" in found["guard"]
        assert found["bytes_per_second"] == pytest.approx(1440 * found["frames_per_second"])
        assert found["memcpy_bytes_per_second"] > found["bytes_per_second"]
        assert ingest(compiled("bandit"), 0.05)["host_copies"] is None, "nobody looked"

    def test_a_processor_counts_nothing_and_says_null(self, monkeypatch, capsys):
        """Also beside a GPU, which has nothing to do with it; what a GPU counts: test_dreamer_device.py."""
        monkeypatch.setattr(transfer_guard, "counts", lambda: True)
        monkeypatch.setattr(transfer_guard, "counted", lambda: pytest.fail("there is nothing to count"))
        found = ingest(compiled("bandit"), 0.05, guard=True)
        assert found["host_copies"] is None and "nothing to count" in found["guard"]
        assert main.main(["ingest", "bandit", "--seconds", "0.05", "--guard", "--device", "cpu"]) == 0
        assert "copies between host and device: not counted" in capsys.readouterr().out

    def test_what_no_frame_shows_is_a_sentence(self, capsys, reference_rules):
        with pytest.raises(ValueError, match="'bad' has no scene to draw"):
            ingest(compile_drill(drill_with(stands_still)), 0.1)
        with pytest.raises(ValueError, match="forbid actions"):
            suits(compiled("snake").spec)
        assert main.main(["ingest", "approach", "--seconds", "-1"]) == 2
        assert "--seconds" in capsys.readouterr().err
