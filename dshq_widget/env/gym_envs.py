"""A batch of games as Gymnasium's environments: `DrillVectorEnv` for many games, `DrillEnv` for one side of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from dshq_kernels.play.loops import shape_of
from dshq_kernels.play.steps import NOBODY, observe_games, scratch_bytes, step_games
from dshq_kernels.simd.lanes import LANES
from dshq_widget.contract.finite import plain, whole
from dshq_widget.contract.game_spec import DrillSpec
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.drill.declaration import Drill
from dshq_widget.env.batch import GAMMA, Batch, whole_actions
from dshq_widget.env.picture import Painter

EVERY_DRILL = ("self", "random", "idle")
"""Opponents of every drill; in a drill of one side they are ignored."""
RENDER_MODES = ("rgb_array",)
WIDTH = 480
"""Of a rendered picture, in pixels."""
RESET_OPTIONS = ("practice", "reset_mask")


ENV_OPTIONS = ("seed", "practice", "weights", "shaping", "gamma", "render_width")


def described(spec: DrillSpec) -> dict[str, Any]:
    """Metadata of a drill's environments; `render_fps` is decisions per second of the game."""
    return {"render_modes": list(RENDER_MODES), "render_fps": spec.tick_rate / spec.action_repeat}


def observation_box(spec: DrillSpec) -> gym.spaces.Box:
    """The space of one row's observations: bounded by what the drill declares, else unbounded."""
    low, high = spec.observation_range or (-np.inf, np.inf)
    return gym.spaces.Box(low, high, (spec.n_obs,), np.float32)


def check_options(options: Mapping[str, Any], known: Sequence[str]) -> None:
    """Raises ValueError for an option that is not `known`."""
    unknown = next((name for name in options if name not in known), None)
    if unknown is not None:
        raise ValueError(f"unknown option {unknown!r}: expected one of {', '.join(known)}")


class DrillVectorEnv(VectorEnv):
    """A drill as `gymnasium.vector.VectorEnv`: f32 observations (rows, n_obs), Discrete actions,
    `infos["reward_<term>"]` per row, and of a drill with a mask `infos["action_mask"]`, i8 (rows, n_actions), for the
    next action.

    Episodes are matches by the rules and rewards are the drill's own, unless `practice` asks for the training starts
    and `shaping` for the potentials (with `gamma`); `weights` replaces default weights of terms by name. With
    `render_mode="rgb_array"`, `render()` returns a picture of every row's game, u8 (height, width, 3), `render_width`
    pixels wide.

    `autoreset` is Gymnasium's: "next_step" resets a finished game on the step after (its action is ignored, its reward
    is 0), "same_step" at once, the last observation then in `infos["final_obs"]`. The mode is in
    `metadata["autoreset_mode"]`.
    """

    def __init__(
        self,
        drill: str | type[Drill] | CompiledDrill,
        num_envs: int = 1,
        *,
        opponent: str | None = None,
        autoreset: str = "next_step",
        seed: int = 0,
        practice: bool = False,
        weights: Mapping[str, float] | None = None,
        shaping: bool = False,
        gamma: float = GAMMA,
        render_mode: str | None = None,
        render_width: int = WIDTH,
    ):
        modes = {"next_step": AutoresetMode.NEXT_STEP, "same_step": AutoresetMode.SAME_STEP}
        if autoreset not in modes:
            raise ValueError(f"autoreset: expected one of {', '.join(modes)}, got {autoreset!r}")
        if render_mode not in (None, *RENDER_MODES):
            raise ValueError(f"render_mode: expected 'rgb_array' or None, got {render_mode!r}")
        if not 64 <= render_width <= 1920:
            raise ValueError(f"render_width: expected 64 to 1920 pixels, got {render_width}")
        num_envs = whole("num_envs", num_envs, 1)
        self.batch = Batch(drill, num_envs, seed, practice=practice, weights=weights, shaping=shaping, gamma=gamma)
        spec = self.batch.spec
        if spec.sides == 1 and opponent not in (None, *EVERY_DRILL):
            raise ValueError(f"opponent: {spec.name!r} has one side, so there is no opponent: leave it out")
        default = (spec.baselines or ["random"])[0]
        self.opponent = (opponent or default) if spec.sides == 2 else None
        self.learning = spec.sides if self.opponent == "self" else 1
        self.num_envs = num_envs * self.learning
        self.render_mode, self.render_width = render_mode, render_width
        self.metadata = {"autoreset_mode": modes[autoreset], **described(spec)}
        self.same_step = autoreset == "same_step"
        self.single_observation_space = observation_box(spec)
        self.single_action_space = gym.spaces.Discrete(spec.n_actions)
        self.observation_space = gym.vector.utils.batch_space(self.single_observation_space, self.num_envs)
        self.action_space = gym.vector.utils.batch_space(self.single_action_space, self.num_envs)
        self._finished = np.zeros(num_envs, bool)
        self._shape = shape_of(spec)
        self._who = NOBODY if self.opponent in (None, "self", "idle") else self.batch.game.verb_of(self.opponent)
        self._term_names = [f"reward_{term.name}" for term in spec.terms]
        self._scratch = np.zeros(scratch_bytes(spec, self.batch.tiles.itemsize), np.uint8)
        self._painter: Painter | None = None

    def reset(
        self, *, seed: int | list[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """New episodes everywhere; an int seeds game g with seed + g, None continues the games' generators, and so does
        a None among seeds for each game.

        `options["practice"]`: from now on episodes begin with training starts (true), or as the rules say.
        `options["reset_mask"]`: bool (rows,), only these begin new episodes. Raises ValueError for other options or
        seeds, and changes nothing.
        """
        options = options or {}
        check_options(options, RESET_OPTIONS)
        chosen = self._chosen(options.get("reset_mask"))
        seeds = None if seed is None else self._seeds(seed)
        if "practice" in options:
            self.batch.practise(bool(options["practice"]), chosen)
        if seeds is None:
            self.batch.reset(chosen)
        else:
            seeded = np.array([one is not None for one in seeds])
            self.batch.reset(chosen & ~seeded)
            self.batch.seed(np.array([one or 0 for one in seeds]), chosen & seeded)
        self._finished[chosen] = False
        return self._rows(self.batch.observe()), self._masks()

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """One decision of every row. Raises ValueError for actions that are none of the drill's."""
        batch, learning = self.batch, self.learning
        rows = whole_actions(actions, (batch.num_games, learning))
        seen, rewards, paid, ends, winners, allowed = self._room()
        ended = step_games(
            batch.game.verbs,
            batch.tiles.ctypes.data,
            batch.tiles.itemsize,
            self._shape,
            self._who,
            rows,
            self._finished,
            batch.weights,
            batch.kinds,
            batch.gamma,
            seen,
            rewards,
            paid,
            ends,
            winners,
            allowed,
            self._scratch.ctypes.data,
        )
        batch.game.raise_kept()
        if ended < 0:
            got = f"{rows.min()}..{rows.max()}"
            raise ValueError(f"expected actions 0..{batch.spec.n_actions - 1}, got some in {got}")
        infos: dict[str, Any] = {name: term.ravel() for name, term in zip(self._term_names, paid, strict=True)}
        if ended:
            infos["winner"] = winners.ravel()
        if self.same_step and ended:
            done = self._finished.copy()
            self._finished[:] = False
            rows_done = np.repeat(done, learning)
            last, final = seen.reshape(self.num_envs, -1), np.full(self.num_envs, None, object)
            for row in np.flatnonzero(rows_done):
                final[row] = last[row].copy()
            infos["final_obs"], infos["_final_obs"] = final, rows_done
            batch.reset(done)
            places = batch.tiles.ctypes.data, batch.tiles.itemsize, self._shape, seen, allowed
            observe_games(batch.game.verbs, *places, self._scratch.ctypes.data)
            batch.game.raise_kept()
        if batch.game.masked:
            infos["action_mask"] = allowed.reshape(self.num_envs, -1)
        terminated, truncated = ends.reshape(2, self.num_envs)
        return seen.reshape(self.num_envs, -1), rewards.ravel(), terminated, truncated, infos

    def _room(self) -> tuple[NDArray[Any], ...]:
        """New arrays for what a step says: `step_games`."""
        shape, spec = (self.batch.num_games, self.learning), self.batch.spec
        return (
            np.empty((*shape, spec.n_obs), np.float32),
            np.empty(shape, np.float32),
            np.empty((len(spec.terms), *shape), np.float32),
            np.empty((2, *shape), bool),
            np.empty(shape, np.int32),
            np.empty((*(shape if self.batch.game.masked else (0, 0)), spec.n_actions), np.int8),
        )

    def action_masks(self) -> NDArray[Any]:
        """What each row may do next, bool (rows, n_actions): all true in a drill without a mask."""
        return self._rows(self.batch.mask()) != 0

    def render(self) -> tuple[NDArray[Any], ...] | None:
        """A picture of every row's game, u8 (height, width, 3); None without a render mode."""
        if self.render_mode is None:
            return None
        return tuple(self.picture(row // self.learning) for row in range(self.num_envs))

    def picture(self, game: int) -> NDArray[Any]:
        """A picture of one game, u8 (height, width, 3)."""
        if self._painter is None:
            self._painter = Painter(self.batch.spec, self.render_width)
        return self._painter.draw(self.batch.game.scene(self.batch.tiles, game // LANES, game % LANES))

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the painter, so that copies are small; a copy continues exactly."""
        return {**vars(self), "_painter": None}

    def _seeds(self, seed: Any) -> list[int | None]:
        """Each game's seed, of 32 bits; None: its generator continues."""
        n = self.batch.num_games
        given = plain(seed)
        if isinstance(given, (int, float)):
            first = whole("seed", given)
            return [(first + game) & 0xFFFFFFFF for game in range(n)]
        if not isinstance(given, (list, tuple)) or len(given) != n:
            raise ValueError(f"seed must be a whole number or {n} of them, got {seed!r:.60}")
        return [None if one is None else whole("seed", one) & 0xFFFFFFFF for one in given]

    def _chosen(self, rows: Any) -> NDArray[Any]:
        """The games, bool (num_games,), of a choice of rows."""
        n = self.batch.num_games
        if rows is None:
            return np.ones(n, bool)
        rows = np.asarray(rows)
        if rows.shape != (self.num_envs,) or rows.dtype != bool:
            got = f"{rows.dtype} of shape {rows.shape}"
            raise ValueError(f"reset_mask: expected bool of shape {(self.num_envs,)}, got {got}")
        sides = rows.reshape(n, self.learning)
        if (sides.any(1) != sides.all(1)).any():
            raise ValueError("reset_mask: rows 2k and 2k + 1 are one game, so choose both or neither")
        return sides.all(1)

    def _masks(self) -> dict[str, Any]:
        return {"action_mask": self._rows(self.batch.mask())} if self.batch.game.masked else {}

    def snapshot(self, games: Sequence[int] | NDArray[Any]) -> NDArray[Any]:
        """See `Batch.snapshot`."""
        return self.batch.snapshot(games)

    def restore(self, games: Sequence[int] | NDArray[Any], states: NDArray[Any]) -> None:
        """See `Batch.restore`; a restored game is playing, even if the one it replaces had finished."""
        self.batch.restore(games, states)
        self._finished[np.asarray(games)] = False

    def _rows(self, values: NDArray[Any]) -> NDArray[Any]:
        """(num_games, sides, ...) -> (rows, ...)."""
        return np.ascontiguousarray(values[:, : self.learning]).reshape(self.num_envs, *values.shape[2:])


class DrillEnv(gym.Env):
    """One side of one game as `gymnasium.Env`; the other side is a baseline, "random" or "idle". Options are those of
    `DrillVectorEnv`, without `autoreset`.
    """

    metadata = {"render_modes": list(RENDER_MODES)}

    def __init__(
        self,
        drill: str | type[Drill] | CompiledDrill,
        opponent: str | None = None,
        *,
        render_mode: str | None = None,
        **options: Any,
    ):
        if opponent == "self":
            raise ValueError('opponent="self" has two rows: use make_vec, or make_parallel for two named agents')
        check_options(options, ENV_OPTIONS)
        self._vector = DrillVectorEnv(drill, 1, opponent=opponent, render_mode=render_mode, **options)
        self.render_mode, self.metadata = render_mode, described(self._vector.batch.spec)
        self.observation_space = self._vector.single_observation_space
        self.action_space = self._vector.single_action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """A new episode. `options["practice"]`: from now on episodes begin with training starts (true), or as the
        rules say. Raises ValueError for other options.
        """
        check_options(options or {}, ("practice",))
        super().reset(seed=None if seed is None else whole("seed", seed, 0))
        first = int(self.np_random.integers(1 << 31)) if seed is not None else None
        observed, infos = self._vector.reset(seed=first, options=options)
        return observed[0], {k: v[0] for k, v in infos.items()}

    def step(self, action: int) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        observed, rewards, terminated, truncated, infos = self._vector.step(np.array([action]))
        return (
            observed[0],
            float(rewards[0]),
            bool(terminated[0]),
            bool(truncated[0]),
            {k: v[0] for k, v in infos.items()},
        )

    def render(self) -> NDArray[Any] | None:
        """The game as a picture, u8 (height, width, 3); None without a render mode."""
        return None if self.render_mode is None else self._vector.picture(0)

    def action_masks(self) -> NDArray[Any]:
        """What may be done next, bool (n_actions,): all true in a drill without a mask."""
        return self._vector.action_masks()[0]
