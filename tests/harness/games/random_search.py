"""A toy algorithm: random search on the weights. It shows all that a new algorithm has to bring."""

from types import SimpleNamespace

import numpy as np

from dshq_widget.algorithms.algorithm import Algorithm, OneProcess
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning.evaluator import Evaluator
from dshq_widget.learning.games import OwnGames
from dshq_widget.learning.publisher import Publisher
from dshq_widget.learning.run import Run
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime.process import role
from dshq_widget.runtime.slots import WeightSlots


class RandomSearch:
    """Plays with a trial near the best weights so far, and keeps it where its games returned at least as much."""

    skipped = 0

    def __init__(self, spec, seed):
        self.rng, self.score = np.random.default_rng(seed), -np.inf
        self.load(spec.untrained(seed))
        self.player = SimpleNamespace(blob=lambda: self.trial)

    def update(self, experience, progress):
        score = experience.samples.mean_return(experience.units)
        if score >= self.score:
            self.best, self.score = self.trial, score
        step = self.rng.standard_normal(len(self.best)) * self.schedule(progress)["learning_rate"]
        self.trial = self.best + step.astype(np.float32)
        return {}

    def schedule(self, progress):
        return {"learning_rate": progress.config.learning_rate * progress.rate}

    def blob(self):
        return self.best.copy()

    def load(self, blob):
        self.best = self.trial = blob.copy()

    def state(self):
        return {"train.search": np.array(self.score)}

    def restore(self, state):
        self.score = float(state["train.search"])


@role
def run(channel, job, blocks):
    drill, config = CompiledDrill.from_json(job["drill"]), TrainConfig.from_values(job["hyper"])
    spec = PolicySpec.for_config(drill.spec, config)
    parts = {
        "learner": RandomSearch(spec, config.seed),
        "source": OwnGames(drill, config, 1),
        "evaluator": Evaluator(drill, spec, config.seed),
        "publisher": Publisher(WeightSlots.attach(blocks["weights"], spec.floats)),
    }
    Run(channel, job, drill=drill, config=config, spec=spec, **parts).train({"text": "searching", "device": "cpu"})


def start(drill, *others):
    return OneProcess("tests.harness.games.random_search:run", drill.to_json(), *others)


ALGORITHM = Algorithm("random_search", start)
