"""The match that the page shows, played by the policy in a process; and what the world model dreams of it."""

import base64
import dataclasses

import numpy as np
import pytest
import torch

from dshq_widget.algorithms.dreamer import saved as saved_policy
from dshq_widget.algorithms.dreamer.model.agent import Dreamer, Player
from dshq_widget.algorithms.dreamer.model.sizes import SIZES, acting_floats
from dshq_widget.algorithms.dreamer.settings import DreamerSettings
from dshq_widget.algorithms.dreamer.show.policy import ShownPolicy
from dshq_widget.algorithms.dreamer.show.process import Show
from dshq_widget.contract import torch_needed
from dshq_widget.contract.protocol import REST_SECONDS
from dshq_widget.env.ahead import MOST_PAGES, check_sum
from dshq_widget.env.batch import Batch, compiled
from dshq_widget.policy import checkpoint
from dshq_widget.policy.checkpoint import CheckpointError
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.slots import WeightSlots
from dshq_widget.training.trainer import Trainer
from dshq_widget.widget import page_protocol
from dshq_widget.widget.drill_widget import DrillWidget
from dshq_widget.widget.policy_show import PolicyShow
from tests.harness.games.dreamers import SMALL
from tests.harness.processes.faults import until

SEEN, MADE, SEED = 1440, 2880, 7
SETTINGS = DreamerSettings().to_json()


class Letters:
    """Takes what the process would send."""

    def __init__(self):
        self.sent = []

    def send(self, message):
        self.sent.append(message)
        return True

    def of(self, kind):
        return [message for message in self.sent if message["type"] == kind]


def begin_of(drill, seed=5, **change):
    words = Batch(drill, 1, seed=seed).snapshot([0])[0]
    start = {"state": words.astype("<u4").tobytes().hex(), "tick": 40, "repeat": 4, "opponent": "random"}
    return {**start, "at_reset": False, **change}


def slots_of(drill):
    n = acting_floats(SIZES["pico"], drill.spec.n_actions)
    block = SharedBlock.create(WeightSlots.nbytes_for(n))
    return block, WeightSlots.create(block, n)


def show_of(drill, job=None):
    """A show with a fresh policy, its letters and the slots in which a learner would publish."""
    block, slots = slots_of(drill)
    job = {"seed": SEED, "settings": SETTINGS, "resume": None, "offset": 0, **(job or {})}
    letters = Letters()
    policy = ShownPolicy(job, block, drill.spec.n_actions)
    return Show(letters, drill, policy, SEED), letters, slots


def ask(show, count, start=None, plan=1, page=9, watch=False):
    show.obey({"type": "DECIDE", "page": page, "plan": plan, "count": count, "watch": watch, "start": start})
    while show.busy:
        show.advance()


def rows(letters):
    return [row for message in letters.of("DECISIONS") for row in message["decisions"]]


@pytest.mark.parametrize("name", ["approach", "ball"])
def test_the_page_can_follow_state_by_state(name):
    """By the rules and the actions sent, every sum and tick is as announced, through a game's end and its rest."""
    drill = compiled(name)
    show, letters, _ = show_of(drill)
    start = begin_of(drill)
    for _ in range(6):
        ask(show, 64, start)
        start = None
    page, tick = Batch(drill, 1), 40
    page.restore([0], np.frombuffer(bytes.fromhex(begin_of(drill)["state"]), "<u4")[None].astype(np.uint32))
    games, only = 0, np.ones(1, bool)
    for at, total, *actions in rows(letters):
        assert (at, total) == (tick, check_sum(page.snapshot([0])[0]))
        assert len(actions) == drill.spec.sides
        page.tiles["action"][0, :, 0] = actions
        page.game.decide(page.tiles)
        page.game.tick(page.tiles, 4)
        tick += 4
        if np.any(page.over()):
            rest = round(REST_SECONDS["goal" if page.winners()[0] else "draw"] * drill.spec.tick_rate)
            page.game.tick(page.tiles, rest)
            tick += rest
            page.practise(False, only)
            page.reset(only)
            games += 1
    assert len(rows(letters)) == 6 * 64 and games >= 1


def test_the_policy_decides_from_the_frames_that_are_sent():
    drill = compiled("approach")
    show, letters, _ = show_of(drill)
    ask(show, 12, begin_of(drill), watch=True)
    data = b"".join(base64.b64decode(message["data"]) for message in letters.of("DECISIONS"))
    frames = np.frombuffer(data, np.uint8).reshape(12, SEEN + MADE)
    assert len(np.unique(frames[:, :SEEN], axis=0)) > 1 and len(np.unique(frames[:, SEEN:])) > 3
    player = Player(Dreamer(DreamerSettings(), 9, SEED), 1, torch.Generator().manual_seed(SEED + 40))
    for k, (_, _, action) in enumerate(rows(letters)):
        frame = torch.from_numpy(frames[k, :SEEN].copy()).view(1, 1, 72, 20)
        assert int(player(frame, torch.tensor([k == 0]))) == action
    surprises = [row for message in letters.of("DECISIONS") for row in message["surprises"]]
    assert [tick for tick, _ in surprises] == [row[0] for row in rows(letters)]
    assert min(nats for _, nats in surprises) >= 0 < max(nats for _, nats in surprises)


def test_actions_are_kept_as_in_training():
    """The policy sees every fourth frame of a game, and its film has a step for each of them."""
    drill = compiled("approach")
    show, letters, _ = show_of(drill, {"settings": DreamerSettings(repeat=4).to_json()})
    ask(show, 40, begin_of(drill), watch=True)
    ticks = [tick for message in letters.of("DECISIONS") for tick, _ in message["surprises"]]
    assert ticks == list(range(40, 40 + 40 * 4, 16))
    actions = [action for _, _, action in rows(letters)]
    assert all(len(set(actions[k : k + 4])) == 1 for k in range(0, 40, 4)) and len(set(actions)) > 1
    show.obey({"type": "DREAM", "page": 9, "plan": 1, "tick": 50})
    film = letters.of("IMAGINED")[0]
    assert (film["tick"], film["stride"]) == (40, 16) and film["ticks"] == ticks[1:]


def test_frames_cost_nothing_while_nobody_looks():
    drill = compiled("approach")
    show, letters, _ = show_of(drill)
    ask(show, 5, begin_of(drill))
    sent = letters.of("DECISIONS")
    assert sent and all(message["data"] == "" and message["surprises"] == [] for message in sent)


@pytest.mark.parametrize("at_reset", [False, True])
def test_new_versions_take_over(at_reset):
    """At the next decision, or where a game begins."""
    drill = compiled("approach")
    show, letters, slots = show_of(drill)
    ask(show, 3, begin_of(drill, at_reset=at_reset))
    other = Dreamer(DreamerSettings(), 9, seed=1)
    slots.publish(1, 12, other.acting().numpy())
    ask(show, 1)
    for _ in range(4):
        ask(show, 60)
    versions = [(row[0], message["version"]) for message in letters.of("DECISIONS") for row in message["decisions"]]
    first = next(k for k, (_, version) in enumerate(versions) if version == 12)
    assert {version for _, version in versions[:first]} == {0}
    if at_reset:
        assert versions[first][0] - versions[first - 1][0] > 4, "a rest lies before it"
    else:
        assert first == 3
    assert torch.equal(show.policy.dreamer.acting(), other.acting())


def test_a_plan_that_is_not_known_is_asked_for_again():
    drill = compiled("approach")
    show, letters, _ = show_of(drill)
    ask(show, 2)
    ask(show, 2, begin_of(drill), plan=1)
    ask(show, 2, plan=2)
    assert letters.of("DECIDE_AGAIN") == [{"type": "DECIDE_AGAIN", "page": 9, "plan": plan} for plan in (1, 2)]
    for page in range(MOST_PAGES):
        ask(show, 1, begin_of(drill), page=page)
    ask(show, 1, plan=1)
    assert len(letters.of("DECIDE_AGAIN")) == 3, "the page that asked longest ago is forgotten"


def test_what_is_imagined_and_what_came():
    drill = compiled("approach")
    show, letters, _ = show_of(drill)
    ask(show, 20, begin_of(drill))
    show.obey({"type": "DREAM", "page": 9, "plan": 1, "tick": 40 + 4 * 6 + 1})
    (film,) = letters.of("IMAGINED")
    data = base64.b64decode(film["data"])
    assert film["tick"] == 64 and film["ticks"] == [row[0] for row in rows(letters) if row[0] > 64]
    assert len(film["reward"]) == len(film["continues"]) == 15 and all(0 <= p <= 1 for p in film["continues"])
    assert len(data) == SEEN + 16 * MADE + len(film["ticks"]) * SEEN
    imagined = np.frombuffer(data, np.uint8, 15 * MADE, SEEN + MADE).reshape(15, MADE)
    assert len(np.unique(imagined, axis=0)) == 15


def test_a_person_drives_the_dream():
    """The same keys give the same dream, others another one; the match is left alone."""
    drill = compiled("approach")
    show, letters, _ = show_of(drill)
    ask(show, 10, begin_of(drill))
    before = show.pages[9].player.h.clone()

    def dream(action):
        letters.sent.clear()
        show.obey({"type": "ENTER_DREAM", "page": 9, "plan": 1, "tick": 60})
        for _ in range(5):
            show.obey({"type": "DREAM_ACT", "page": 9, "plan": 1, "action": action})
        return [message["data"] for message in letters.of("DREAMT")]

    ahead = dream(3)
    assert len(ahead) == 6 and len(base64.b64decode(ahead[0])) == MADE
    assert dream(3) == ahead and dream(0)[0] == ahead[0] and dream(0)[1:] != ahead[1:]
    assert torch.equal(show.pages[9].player.h, before)


@pytest.mark.parametrize("name", ["pico", "spots", "nano", "1m"])
@pytest.mark.parametrize("n_actions", [2, 31])
def test_weights_are_counted_without_torch(name, n_actions):
    dreamer = Dreamer(DreamerSettings(size=name), n_actions, 0)
    assert len(dreamer.acting()) == acting_floats(SIZES[name], n_actions)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("show") / "bandit.dshq"
    with Trainer("bandit", algorithm="dreamer", dreamer=SMALL, evaluate_seconds=3600) as trainer:
        trainer.train_for(updates=3, progress=False)
        return trainer.save(path)


class TestFiles:
    def test_the_policy_of_a_file_plays(self, file):
        drill, saved = compiled("bandit"), checkpoint.load(file)
        show, letters, _ = show_of(drill, {"resume": str(file)})
        ask(show, 2, begin_of(drill, repeat=1))
        assert {message["version"] for message in letters.of("DECISIONS")} == {saved.version} == {3}
        model = saved.state["train.dreamer.agent.model.weights"]
        assert np.array_equal(show.policy.dreamer.acting().numpy()[: len(model)], model)

    def test_another_size_is_a_sentence(self, file):
        with pytest.raises(CheckpointError, match="choose the file's size and drill"):
            show_of(compiled("approach"), {"resume": str(file)})

    def test_no_model_is_made_before_it_is_known_to_be_the_files(self, file, monkeypatch):
        """A file of four kilobytes that names the largest size took a gigabyte; and so did one without any weights."""
        monkeypatch.setattr(saved_policy, "Dreamer", lambda *_: pytest.fail("it was made"))
        saved = checkpoint.load(file)
        large = {"algorithm_settings": {**saved.algorithm_settings, "size": "12m"}}
        few = {"state": {"train.dreamer.agent.model.weights": np.zeros(1, np.float32)}}
        for small, said in (
            (large, "choose the file's size and drill"),
            ({**large, **few}, "have 1 weights, and those of size '12m' for .* actions have 3"),
            ({**large, "state": {}, "version": 0}, "has no world model"),
            ({"state": {}}, "has no world model"),
        ):
            with pytest.raises(CheckpointError, match=said):
                saved_policy.dreamer_of(dataclasses.replace(saved, **small), 2)

    @pytest.mark.slow
    def test_what_a_page_saves_plays_and_learns_on(self, file, tmp_path):
        """A file without moments and replay, from memory that the learner publishes in, or from the file loaded."""
        with Trainer(file, gentle=True) as trainer:
            loaded = checkpoint.parse(trainer.policy_file(), "a.dshq")
            trainer.train_for(updates=1, progress=False)
            learned = checkpoint.parse(trainer.policy_file(), "b.dshq")
            version, acting = trainer._run.latest.acting()
        assert version == 4
        assert set(learned.state) == {"train.dreamer.acting"} and learned.version == 4
        assert not [name for name in loaded.state if "ring" in name]
        for saved in (loaded, learned):
            path = checkpoint.save(tmp_path / f"{saved.version}.dshq", saved)
            show, letters, _ = show_of(compiled("bandit"), {"resume": str(path)})
            ask(show, 1, begin_of(compiled("bandit"), repeat=1))
            assert letters.of("DECISIONS")[0]["version"] == saved.version
        assert np.array_equal(show.policy.dreamer.acting().numpy(), acting)
        with Trainer(tmp_path / "4.dshq") as trainer:
            assert trainer.train_for(updates=1, progress=False) and trainer.version == 5
        with pytest.raises(CheckpointError, match="choose the file's size and drill"):
            show_of(compiled("approach"), {"resume": str(tmp_path / "4.dshq")})

    def test_other_algorithms_refuse_it_and_it_refuses_theirs(self, file, tmp_path):
        with (
            Trainer("bandit") as ppo,
            pytest.raises(CheckpointError, match=r"is of the algorithm dreamer.*open the file"),
        ):
            ppo.load(file)
        with Trainer("bandit") as ppo:
            other = ppo.save(tmp_path / "ppo.dshq")
        with Trainer(file) as trainer, pytest.raises(CheckpointError, match="is of the algorithm ppo"):
            trainer.load(other)

    def test_a_widget_says_what_its_policy_cannot(self, file, tmp_path):
        with DrillWidget(file) as widget:
            with pytest.raises(ValueError, match="leave out --html"):
                widget.export_html(tmp_path / "a.html")
            assert widget.policy["data"] == b"" and widget.policy["version"] == 3
        with DrillWidget("ball", algorithm="dreamer") as widget:
            assert widget.mode == "sandbox" and widget.rivals == {}
            with pytest.raises(ValueError, match="gold"):
                widget.opponent = "gold"


class TestKernelSide:
    """From the page's message to the process and back."""

    @pytest.fixture
    def trainer(self):
        with Trainer("bandit", algorithm="dreamer") as trainer:
            yield trainer

    def decide(self, trainer, **change):
        start = begin_of(trainer.drill, **{"repeat": 1, **change})
        return {"type": "DECIDE", "page": 1, "plan": 1, "count": 3, "watch": True, "start": start}

    def test_a_process_answers_and_a_new_run_is_another_process(self, trainer):
        got, failed = [], []
        show = PolicyShow(trainer, got.append, failed.append)
        try:
            show.send(self.decide(trainer))
            until(lambda: got or failed, "an answer")
            assert not failed and got[0]["type"] == "DECISIONS"
            assert len(got[0]["buffers"][0]) == len(got[0]["decisions"]) * (SEEN + MADE) > 0
            show.follow()
            assert got[-1]["type"] == "DECISIONS"
            trainer.reset_training()
            show.follow()
            assert got[-1] == {"type": "DECIDE_AGAIN", "page": None, "plan": None}
        finally:
            show.close()

    def test_without_torch_there_is_a_sentence(self, trainer, monkeypatch):
        monkeypatch.setattr(torch_needed, "torch_missing", lambda what: f"{what} needs torch, which is not installed")
        show = PolicyShow(trainer, lambda message: None, lambda text: None)
        with pytest.raises(RuntimeError, match="the algorithm dreamer needs torch"):
            show.send(self.decide(trainer))

    def test_a_question_without_a_plan_is_answered_without_a_process(self, trainer):
        got = []
        show = PolicyShow(trainer, got.append, lambda text: None)
        show.send({**self.decide(trainer), "start": None})
        assert got == [{"type": "DECIDE_AGAIN", "page": 1, "plan": 1}]

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            ({"page": -1}, "needs page"),
            ({"count": "many"}, "needs count"),
            ({"watch": 1}, "needs watch"),
            ({"start": {"state": "00"}}, "digits in hex"),
            ({"start": "here"}, "digits in hex"),
        ],
    )
    def test_questions_are_checked(self, trainer, change, says):
        with pytest.raises(ValueError, match=says):
            page_protocol.to_policy_show("DECIDE", self.decide(trainer) | change, trainer.drill.spec)

    @pytest.mark.parametrize("change", [{"tick": -1}, {"tick": 2**70}, {"repeat": 0}, {"opponent": "gold"}])
    def test_starts_are_checked(self, trainer, change):
        with pytest.raises(ValueError, match="tick|opponent"):
            page_protocol.to_policy_show("DECIDE", self.decide(trainer, **change), trainer.drill.spec)
        assert page_protocol.to_policy_show("DECIDE", self.decide(trainer), trainer.drill.spec)["count"] == 3

    def test_an_action_must_be_one(self, trainer):
        act = {"page": 1, "plan": 1, "action": 2}
        with pytest.raises(ValueError, match="needs action, a whole number from 0 to 1"):
            page_protocol.to_policy_show("DREAM_ACT", act, trainer.drill.spec)
