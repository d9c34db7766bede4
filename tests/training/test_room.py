"""What a run keeps in memory is known before it starts, and has to be there."""

import dataclasses
import re

import pytest

from dshq_widget import algorithms
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.policy import checkpoint
from dshq_widget.runtime import budget
from dshq_widget.training.room import check_room
from dshq_widget.training.trainer import Trainer


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
