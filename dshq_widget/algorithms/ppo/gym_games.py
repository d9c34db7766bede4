"""Source of samples of a Gymnasium environment: a vector of environments, stepped by the learner process."""

from __future__ import annotations

import functools
import math
import multiprocessing
import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing import util
from multiprocessing.synchronize import SemLock
from typing import Any

import numpy as np
import psutil
from gymnasium import Env
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.async_vector_env import AsyncState
from numpy.typing import NDArray

from dshq_kernels.network.mlp import FORBIDDEN
from dshq_kernels.play.gae import gae
from dshq_kernels.play.loops import STATS
from dshq_kernels.play.rollout import empty_stats
from dshq_kernels.simd.lanes import LANES
from dshq_widget.algorithms.ppo.learners.gym_ppo import GymPPO, GymSamples
from dshq_widget.algorithms.ppo.sights import AsGiven, Observations, StackedScreens
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.gyms.environment import Environment
from dshq_widget.gyms.making import make, maker, telling
from dshq_widget.gyms.wrappers import Staying
from dshq_widget.learning import seeds
from dshq_widget.learning.parts import Experience, SimpleSource
from dshq_widget.policy.action_spaces import GymError
from dshq_widget.policy.gym_policy import made
from dshq_widget.runtime.process import ORPHANED
from dshq_widget.system.processes import START_METHOD, die_with

SERVER_END = "dshq_widget.runtime.server_end"
"""What the server of the environments' processes imports first."""
JUDGED = 100
"""Finished episodes that the mean return is taken over: Gymnasium's own measure of a solved environment."""
PROBE_STEPS, SLOW_SECONDS = 64, 1e-3
"""Random steps that are timed, and the duration of a step from which separate processes pay off (assumed: a round trip
takes about 100 us).
"""
GONE = "a process of its environments has ended: it crashed, called os._exit, or the system ran out of memory"


@dataclass
class Episodes:
    """The evaluator for environments: it reports the last training episodes."""

    target: float | None
    returns: deque[float]

    @classmethod
    def judged_by(cls, target: float | None) -> Episodes:
        return cls(target, deque(maxlen=JUDGED))

    @property
    def solved(self) -> bool:
        """Whether the mean of `JUDGED` episodes reaches the target."""
        full = len(self.returns) == JUDGED
        return self.target is not None and full and float(np.mean(self.returns)) >= self.target

    @property
    def metrics(self) -> dict[str, float]:
        """The evaluator's metrics; empty before the first `JUDGED` episodes."""
        if len(self.returns) < JUDGED:
            return {}
        found = {"evaluated_return": float(np.mean(self.returns))}
        return found if self.target is None else {**found, "solved": float(self.solved)}

    def pause(self, config: TrainConfig) -> float:
        """Infinite: training episodes are the evaluation."""
        return math.inf

    def play(self, blob: NDArray[Any]) -> None:
        """Does nothing, for the same reason."""


def processes(environment: Environment, config: TrainConfig, processors: int) -> int:
    """Number of processes that step the environments: 0, or one per environment. If `workers` is -1, this is decided by
    the duration of a step, because a round trip to a process costs time.
    """
    if config.deterministic or config.workers == 0 or (config.workers < 0 and processors < 2):
        return 0
    if config.workers > 0:
        return config.num_envs
    env = make(environment.spec.environment.id, **_how(config))
    env.action_space.seed(config.seed)
    rng = np.random.default_rng(config.seed)
    with telling(environment.name, "reset"):
        _, info = env.reset(seed=config.seed)
    begin = time.perf_counter()
    for _ in range(PROBE_STEPS):
        action = _any_action(environment, env, info, rng)
        with telling(environment.name, "step"):
            _, _, terminated, truncated, info = env.step(action)
            if terminated or truncated:
                _, info = env.reset()
    seconds = (time.perf_counter() - begin) / PROBE_STEPS
    env.close()
    return config.num_envs if seconds > SLOW_SECONDS else 0


def _any_action(environment: Environment, env: Env, info: Mapping[str, Any], rng: np.random.Generator) -> Any:
    """One of the actions that are allowed, at random."""
    mask = allowed(environment, np.asarray(info["action_mask"])[None] if "action_mask" in info else None, 1)
    if mask is None:
        return env.action_space.sample()
    actions = environment.actions
    drawn = actions.draw(np.where(mask, np.float32(0), np.float32(FORBIDDEN)), "", rng)
    return actions.to_environment(drawn, "")[0]


def allowed(environment: Environment, given: Any, count: int) -> NDArray[Any] | None:
    """bool `[N, outputs]`: the options that N environments allow now; `given` are their `info["action_mask"]`, or None.
    None if there is none, or actions are numbers. Raises GymError for a mask of another shape.
    """
    actions = environment.actions
    if actions.kind == "box" or given is None:
        return None
    wanted = (count, actions.outputs)
    if np.shape(given) != wanted:
        raise GymError(
            f"{environment.name} gave an action_mask of shape {np.shape(given)[1:]}: wanted {wanted[1:]}, one "
            "number for each option of its actions, 0 for what is forbidden, in every info"
        )
    return actions.allowing(np.asarray(given, bool))


def _how(config: TrainConfig) -> dict[str, Any]:
    """How a learner's environments are made, as keywords of `gyms.making.make`."""
    return {**made(config.to_json()), "screens": config.frames == "device"}


def make_vector(environment: Environment, config: TrainConfig, apart: bool) -> VectorEnv:
    """`config.num_envs` copies, stepped in this process or each in its own process."""
    makers = [maker(environment.spec.environment.id, _how(config))] * config.num_envs
    if not apart:
        return SyncVectorEnv(makers, autoreset_mode=AutoresetMode.SAME_STEP)
    if START_METHOD == "forkserver":
        multiprocessing.set_forkserver_preload(["__main__", SERVER_END])
    guarded = [functools.partial(_made_apart, make_one) for make_one in makers]
    return AsyncVectorEnv(guarded, autoreset_mode=AutoresetMode.SAME_STEP, context=START_METHOD)


def _made_apart(make_one: Callable[[], Env]) -> Env:
    """An environment in a process of its own, which ends with the server that started it, also inside a long step; the
    server ends with this run's process (runtime/server_end.py). Both may have ended while this one imported.
    """
    run = multiprocessing.parent_process()
    if run is not None:  # this run's process makes one, too, and looks at its spaces
        die_with(os.getppid(), ORPHANED)
        if not run.is_alive():
            os._exit(ORPHANED)
    return Staying(make_one())


def unlink_semaphores() -> None:
    """Take the names of this process's semaphores away, once everybody has opened them: a name outlives a process that
    is killed (sem_overview(7)), and multiprocessing's own cleaner is killed with its process group.
    """
    for finalizer in list(util._finalizer_registry.values()):  # type: ignore[attr-defined]
        if finalizer._callback is SemLock._cleanup:  # type: ignore[attr-defined]
            finalizer()


class GymGames(SimpleSource):
    """`config.num_envs` environments and their current episodes, of which none is that of an earlier start: `version`
    is the one that the run continues from. `device` is the learner's. Raises GymError if one fails.
    """

    def __init__(
        self,
        environment: Environment,
        config: TrainConfig,
        apart: bool = False,
        version: int = 0,
        device: str = "cpu",
    ):
        self.environment, self.actions = environment, environment.actions
        self.atari = bool(environment.spec.atari)
        self.distribution = config.action_distribution
        self.vector = make_vector(environment, config, apart)
        self.rng = np.random.default_rng([config.seed, 0x67796D, version])
        self.episodes = Episodes.judged_by(environment.spec.target)
        self.count = config.num_envs
        self.length, self.total = np.zeros(self.count, np.int64), np.zeros(self.count)
        obs, infos = self._call("reset", seed=seeds.apart(config.seed, version) >> 1 if version else config.seed)
        unlink_semaphores()
        stacked = self.atari and config.frames == "device"
        self.sight = StackedScreens(obs.shape[1:], device) if stacked else AsGiven(environment.name)
        self.obs, self.lives, self.mask = self.sight.begin(obs), self._lives(infos), self._mask(infos)

    def next(self, learner: GymPPO, config: TrainConfig, version: int) -> Experience:
        """Play one rollout with the learner's own weights."""
        steps, count = config.rollout_length, self.count
        stats = empty_stats(0)
        seen: Any = self.sight.room(steps, self.obs)
        said = np.empty((steps, count, self.actions.outputs), np.float32)
        values, rewards, final = (np.zeros((steps, count), np.float32) for _ in range(3))
        ended, cut = (np.zeros((steps, count), bool) for _ in range(2))
        drawn, allowed = [], []
        for t in range(steps):
            seen[t] = self.obs
            said[t], values[t] = self._decide(learner, t)
            if self.mask is not None:
                said[t] = np.where(self.mask, said[t], np.float32(FORBIDDEN))
            allowed.append(np.ones(said[t].shape, bool) if self.mask is None else self.mask)
            drawn.append(self.actions.draw(said[t], self.distribution, self.rng))
            taken = self.actions.to_environment(drawn[t], self.distribution)
            obs, reward, ended[t], cut[t], infos = self._call("step", taken)
            if not np.isfinite(reward).all():
                raise GymError(f"{self.environment.name} returned a reward that is not finite: fix the environment")
            rewards[t] = np.sign(reward) if self.atari else reward
            if config.reward_clip and not learner.normalizer.measures:  # in a unit that this rollout is to give
                limit = config.reward_clip / learner.normalizer.reward_scale
                rewards[t] = np.clip(rewards[t], -limit, limit)
            cut[t] &= ~ended[t]
            over = ended[t] | cut[t]
            self._count(reward, over, stats)
            before, self.lives = self.lives, self._lives(infos)
            if config.life_ends_episode:
                ended[t] |= (self.lives < before) & ~over
            if cut[t].any():
                last = self.sight.last(np.stack(list(infos["final_obs"][cut[t]])), cut[t])
                final[t, cut[t]] = self._values(learner, last, cut[t])
            self.obs, self.mask = self.sight.follow(obs, over), self._mask(infos)
            self._begin(over, t + 1)
        following = self._values(learner, self.obs, np.ones(count, bool))
        advantages, returns = gae(rewards, values, following, final, ended, cut, config.gamma, config.gae_lambda)
        action = np.stack(drawn)
        log_prob = learner.log_prob(said.reshape(-1, said.shape[-1]), action.reshape(-1, action.shape[-1]))
        stats[STATS.index("agent_steps")] = steps * count
        samples = self._samples(seen, action, log_prob.reshape(steps, count), values, advantages, returns)
        if not np.all(allowed):
            samples.mask = self._shaped(np.stack(allowed))
        units = np.arange(len(samples.value))
        return Experience(samples, units, stats)

    def _decide(self, learner: GymPPO, t: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Outputs and values of what the environments show now, at decision t of the rollout."""
        return learner.look(self.obs)

    def _values(self, learner: GymPPO, obs: Observations, rows: NDArray[Any]) -> NDArray[Any]:
        """Values f32 `[n]` of observations of the n environments in `rows`, bool `[N]`."""
        return learner.look(obs)[1]

    def _begin(self, over: NDArray[Any], t: int) -> None:
        """Where `over`, bool `[N]`, decision t of the rollout is the first one of an episode."""

    def _samples(self, seen: Observations, *rows: NDArray[Any]) -> GymSamples:
        """Samples from observations `[T, N, ...]` and the other fields in their order, `[T, N, ...]` each."""
        obs, *others = (_units(field) for field in (seen, *rows))
        return GymSamples(self._turned(obs), *others)

    def _turned(self, obs: Any) -> Any:
        """Observations `[units, 16, ...]` as samples have them: numbers alone are f32 `[units, n_obs, 16]`."""
        pictured = self.environment.spec.pictures_read
        return obs if pictured else np.ascontiguousarray(obs.transpose(0, 2, 1))

    def _shaped(self, rows: NDArray[Any]) -> NDArray[Any]:
        """`[T, N, ...]` as the samples have it, `[units, 16, ...]`."""
        return _units(rows)

    def _mask(self, infos: Mapping[str, Any]) -> NDArray[Any] | None:
        return allowed(self.environment, infos.get("action_mask"), self.count)

    def _count(self, reward: NDArray[Any], over: NDArray[Any], stats: NDArray[Any]) -> None:
        """Add one step to the episodes, and finished episodes to the sums."""
        self.length += 1
        self.total += reward
        for row in np.flatnonzero(over):
            found = float(self.total[row])
            self.episodes.returns.append(found)
            for name, value in (
                ("episodes", 1),
                ("decisions", self.length[row]),
                ("returns", 1),
                ("return_sum", found),
            ):
                stats[STATS.index(name)] += value
            low, high = STATS.index("return_min"), STATS.index("return_max")
            stats[low], stats[high] = min(stats[low], found), max(stats[high], found)
        self.length[over], self.total[over] = 0, 0.0

    def _lives(self, infos: Mapping[str, Any]) -> NDArray[Any]:
        """Lives left in each Atari game, i64 `[N]`; 0 in other environments."""
        return np.array(infos["lives"] if self.atari else np.zeros(self.count), np.int64)

    def _call(self, what: str, *arguments: Any, **named: Any) -> Any:
        with telling(self.environment.name, what):
            try:
                return getattr(self.vector, what)(*arguments, **named)
            except (EOFError, ConnectionError) as error:
                if not isinstance(self.vector, AsyncVectorEnv):
                    raise
                self.vector._state = AsyncState.DEFAULT  # else its end waits for an answer of the lost one
                self.vector.close(terminate=True)
                raise RuntimeError(GONE) from error

    def close(self) -> None:
        """End the environments and their processes."""
        self.vector.close()

    @property
    def memory_mb(self) -> float:
        """Memory of the environments' processes."""
        pids = [process.pid for process in multiprocessing.active_children()]
        return sum(psutil.Process(pid).memory_info().rss for pid in pids if pid is not None) / 1e6


def _units(values: Any) -> Any:
    """`[T, N, ...]` -> `[T * N / 16, 16, ...]`, of numpy's or of torch's."""
    units = values.reshape(-1, LANES, *values.shape[2:])
    return np.ascontiguousarray(units) if isinstance(units, np.ndarray) else units
