"""What a run keeps in memory is known before it starts, and has to be there."""

import dataclasses
import re

import numpy as np
import pytest

from dshq_widget import algorithms
from dshq_widget.algorithms.ppo.learners import learners
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.env.batch import compiled
from dshq_widget.learning.fitting import learning_bytes
from dshq_widget.policy import checkpoint, convolutions
from dshq_widget.policy.action_spaces import Actions
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime import budget
from dshq_widget.training.room import check_room
from dshq_widget.training.trainer import Trainer
from dshq_widget.widget.affordable import affordable


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("spo", {"replay_buffer_size": 10_000_000}),
        ("spo", {"num_particles": 4096, "search_depth": 64, "replay_buffer_size": 10_000_000}),
        ("dreamer", {"ring": 9_900_032, "games": 4096, "prefill": 9_000_000}),
    ],
)
def test_a_files_own_settings_may_ask_for_no_more_than_is_free(name, own, tmp_path, monkeypatch):
    """It opens, and one may choose less."""
    with Trainer("ball", algorithm=name) as trainer:
        saved = checkpoint.load(trainer.save(tmp_path / "bot.dshq"))
    asked = dataclasses.replace(saved, algorithm_settings={**saved.algorithm_settings, **own})
    path = checkpoint.save(tmp_path / "bot.dshq", asked)
    monkeypatch.setattr(budget, "memory_available", lambda: 2e9)
    with Trainer(path) as trainer:
        assert own.items() <= trainer.algorithm_settings.items()
        trainer.start()
        assert trainer.status == "error"
        assert re.search(rf"need [\d.]+ GB of memory or more, and 2 GB are free: .*{name}", trainer.error), (
            trainer.error
        )
        small = {"replay_buffer_size": 65_536, "num_particles": 16} if name == "spo" else {"ring": 65_536, "games": 16}
        trainer.set_hyper(**{name: small})
        config = trainer.run_config({})
        check_room(config.algorithm, trainer.drill.spec, config.values, config.section)


def test_what_spo_declares_is_what_its_replay_takes():
    from dshq_widget.algorithms.spo.replay import Replay

    with Trainer("ball", algorithm="spo") as trainer:
        spec = trainer.drill.spec
    algorithm = algorithms.chosen("spo")
    for size, particles in ((65_536, 16), (20_000, 64)):
        section = algorithm.read({"replay_buffer_size": size, "num_particles": particles})
        replay = Replay(spec, 4, size, particles, 32)
        kept = [array for array in vars(replay).values() if hasattr(array, "nbytes")]
        taken = sum(array.nbytes for array in kept)
        assert 0.5 < taken / algorithm.memory(spec, TrainConfig(num_envs=64), section) <= 1


def test_what_dreamer_declares_is_what_its_ring_takes():
    pytest.importorskip("torch")
    from dshq_widget.pixels.ring import ReplayRing

    with Trainer("ball", algorithm="dreamer") as trainer:
        spec = trainer.drill.spec
    algorithm = algorithms.chosen("dreamer")
    small, large = (algorithm.memory(spec, TrainConfig(), algorithm.read({"ring": ring})) for ring in (4096, 12288))
    ring = ReplayRing(8192 // 16, 16)
    taken = sum(row.numel() * row.element_size() for row in (ring.obs, *ring.rows.values()))
    assert small < large and taken == large - small


def test_what_spo_declares_has_what_its_learner_reads():
    from dshq_widget.algorithms.spo.learner import SpoLearner

    spec = compiled("ball").spec
    algorithm = algorithms.chosen("spo")
    network = PolicySpec.for_config(spec, TrainConfig())

    def found(batch: int) -> tuple[float, float]:
        section = algorithm.read({"sample_batch_size": batch, "sample_sequence_length": 16})
        learner = SpoLearner(network, section, 0)
        arrays = [array for array in vars(learner).values() if isinstance(array, np.ndarray)]
        return algorithm.memory(spec, TrainConfig(), section), sum(array.nbytes for array in arrays)

    (little, small), (much, large) = found(16), found(1600)
    assert much - little == large - small > 1e6


@pytest.mark.parametrize("memory", [0, 64])
def test_what_ppo_declares_has_the_scratch_of_its_threads(memory):
    spec = compiled("ball").spec
    config = TrainConfig(memory=memory, rollout_length=64)
    network = PolicySpec.for_config(spec, config)
    learner = learners["fused"](network, threads=budget.MOST_THREADS)
    if memory:
        learner._make_room(config.rollout_length)
    assert learning_bytes(spec, config, network) == learner._scratch.nbytes


def test_settings_with_which_torch_learns_declare_its_minibatch(monkeypatch):
    monkeypatch.setattr(budget, "memory_available", lambda: 2e9)
    spec, ppo = compiled("ball").spec, algorithms.chosen("ppo")
    large = TrainConfig(hidden_sizes=[1024] * 4, num_envs=16384, rollout_length=16, minibatch_size=1 << 22)
    check_room(ppo, spec, large, None)
    for changed in ({"validate_every": 5}, {"joint": True}, {"device": "cuda"}):
        with pytest.raises(MemoryError, match="GB of memory or more"):
            check_room(ppo, spec, large.replace(changed), None)
        check_room(ppo, spec, large.replace({**changed, "minibatch_size": 4096}), None)
    with Trainer("gym:CartPole-v1") as trainer, pytest.raises(ValueError, match=r"need 2.2 GB of memory or more"):
        affordable({"hidden_sizes": [1024] * 4, "rollout_length": 4096, "minibatch_size": 1 << 22}, trainer)


@pytest.mark.parametrize(
    ("hidden", "memory", "pictures"),
    [([64, 64], 0, ()), ([1024] * 4, 0, ()), ([64], 64, ()), ([128], 512, ()), ([256], 0, ((4, 84, 84),))],
)
def test_what_torch_keeps_for_a_gradient_is_declared(hidden, memory, pictures):
    """Of a minibatch: what autograd saves, each storage once, the weights left out."""
    torch = pytest.importorskip("torch")
    from dshq_widget.algorithms.ppo.learners.gym_ppo import GymPPO
    from dshq_widget.algorithms.ppo.recurrent.learner import RecurrentPPO, Seen

    inputs = sum(map(convolutions.features, pictures)) or 4
    network = PolicySpec((inputs, *hidden, *([-memory] if memory else []), 3), "tanh", False, pictures)
    tiles, length = 2, 16
    rows = tiles * length * 16
    obs = torch.zeros((rows, *(pictures[0] if pictures else (inputs,))))
    if memory:
        learner = RecurrentPPO(network)
        given = Seen(obs, torch.zeros(tiles, length, 16), torch.zeros(tiles, 16, 2 * memory))
        action = torch.zeros(rows, dtype=torch.long)
    else:
        learner, given, action = GymPPO(network, Actions("choice", (2,)), "gaussian"), obs, torch.zeros(rows, 1)
    kept = {}

    def keep(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    nothing = [torch.zeros(rows) for _ in range(4)]
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss, _ = learner.loss(given, action, *nothing, Hyper())
    kept.pop(learner.weights.untyped_storage().data_ptr(), None)
    spec = compiled("ball").spec
    config = TrainConfig(validate_every=1, num_envs=16, rollout_length=4096, minibatch_size=rows)
    assert loss.requires_grad and 0.4 < sum(kept.values()) / learning_bytes(spec, config, network) < 1.1
