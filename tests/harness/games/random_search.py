"""A toy algorithm: random search on the weights. It shows the least that a new algorithm has to bring."""

from types import SimpleNamespace

import numpy as np

from dshq_widget import extend


class RandomSearch:
    """Plays with a trial near the best weights so far, and keeps it where its games returned at least as much."""

    skipped = 0

    def __init__(self, spec, config, own):
        self.rng, self.score = np.random.default_rng(config.seed), -np.inf
        self.load(spec.untrained(config.seed))
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


@extend.role
def run(channel, job, blocks):
    extend.train(channel, job, blocks, RandomSearch)


ALGORITHM = extend.Algorithm("random_search", extend.one_process(f"{__name__}:run"))
