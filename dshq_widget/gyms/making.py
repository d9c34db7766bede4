"""Creates Gymnasium environments with the wrappers that policies need, and describes them."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import gymnasium as gym

from dshq_widget.gyms import named
from dshq_widget.gyms.environment import PREFIX, Environment, EnvironmentSpec, Made
from dshq_widget.gyms.parts import InOneRow
from dshq_widget.gyms.reading import MOST_NUMBERS, SIDE, STACK, left_out, readable
from dshq_widget.gyms.recipes import ATARI, suggested
from dshq_widget.gyms.wrappers import ActionRepeat, FireOnReset, Screens, waits_for_fire
from dshq_widget.policy.action_spaces import Actions, GymError
from dshq_widget.policy.layout import Layout, pictures_of
from dshq_widget.runtime.own_modules import look_in
from dshq_widget.runtime.variables import name_libraries
from dshq_widget.runtime.words import reason_of, said

ATARI_FPS, ATARI_SKIP = 60.0, 4
"""Frames per second and per decision of an Atari game: Mnih et al., 2015."""
USUAL_FPS = 30.0
"""Steps per second of the show if the environment does not define it."""


def make(
    gym_id: str,
    render: bool = False,
    *,
    action_repeat: int = 1,
    fire_on_reset: bool = False,
    flat: bool = False,
    screens: bool = False,
) -> gym.Env:
    """One environment with its wrappers; with `render` it also renders frames. `action_repeat` and `fire_on_reset` are
    settings (contract/settings.py); `flat` is for policies that read pictures beside numbers as numbers. With `screens`
    an Atari game shows whole screens, one at a time, for a learner that makes them smaller itself.
    `my_module:Mine-v0` imports the module first, also from the working directory, where a notebook lies;
    `Mine-v0+Wrapper` is the environment in a wrapper (named.py). Raises GymError.
    """
    name = gym_id
    gym_id, wrappers = named.split(name)
    options: dict[str, Any] = {"render_mode": "rgb_array"} if render else {}
    if ":" in gym_id:
        look_in(os.getcwd())
    try:
        if ATARI.match(gym_id):
            return _atari(gym_id, wrappers, options, action_repeat, fire_on_reset, screens)
        named.register(gym_id)
        env = gym.make(gym_id, **options)
        env = named.wrapped(env, wrappers, gym_id)
        env = env if action_repeat == 1 else ActionRepeat(env, action_repeat)
        return readable(env, named.CODES if named.CODED.match(gym_id) else (), flat)
    except GymError:
        raise
    except (Exception, SystemExit) as error:  # an environment may raise anything; the error names the environment
        reason = reason_of(error)
        raise GymError(f"cannot create {PREFIX}{name}: {reason.rstrip('.?')}{_hint(gym_id, error, reason)}") from error
    finally:
        name_libraries()  # Atari games, some wrappers and others' environments import OpenCV


def maker(gym_id: str, made: Mapping[str, Any]) -> Callable[[], gym.Env]:
    """A function that creates it, for a vector of environments; `made` are settings that `make` takes."""
    return lambda: make(gym_id, **made)


@contextlib.contextmanager
def telling(name: str, what: str) -> Iterator[None]:
    """Turn any exception of the environment called `name` into a GymError that names it and keeps the traceback."""
    try:
        yield
    except (Exception, SystemExit) as error:
        raise GymError(f"{name} failed in {what}: {said(error)}") from error


def _hint(gym_id: str, error: BaseException, reason: str) -> str:
    if isinstance(error, gym.error.UnregisteredEnv) and ":" not in gym_id:
        return "; for your own environment, include the module that registers it: gym:my_module:Mine-v0"
    missing = isinstance(error, (ImportError, gym.error.DependencyNotInstalled))
    return '; pip install "dshq-widget[atari]"' if missing and "opencv" in reason.lower() else ""


def _atari(
    gym_id: str,
    wrappers: Sequence[str],
    options: Mapping[str, Any],
    action_repeat: int,
    fire_on_reset: bool,
    screens: bool,
) -> gym.Env:
    if screens and wrappers:
        raise GymError(
            f"{PREFIX}{gym_id} with wrappers in its name cannot have frames=device: they would see whole screens "
            "instead of small ones; set frames to processor"
        )
    try:
        import ale_py
        import cv2  # noqa: F401  # AtariPreprocessing needs it
    except ImportError as error:
        raise GymError(f'{PREFIX}{gym_id} needs {error.name}: pip install "dshq-widget[atari]"') from error
    gym.register_envs(ale_py)
    env = gym.make(gym_id, frameskip=1, obs_type="grayscale", **options)  # colours would be drawn and thrown away
    read = Screens if screens else gym.wrappers.AtariPreprocessing
    env = read(env, frame_skip=ATARI_SKIP, screen_size=SIDE, grayscale_obs=True)
    env = named.wrapped(env, wrappers, gym_id)
    env = env if action_repeat == 1 else ActionRepeat(env, action_repeat)
    env = FireOnReset(env) if fire_on_reset and waits_for_fire(env) else env
    return env if screens else gym.wrappers.FrameStackObservation(env, STACK)


def _wrappers(env: gym.Env) -> list[str]:
    """Names from the outermost wrapper to the innermost."""
    names = []
    while isinstance(env, gym.Wrapper):
        names.append(type(env).__name__)
        env = env.env
    return names


def described(name: str) -> Environment:
    """Describe the environment `gym:ID`; creates it once to read its spaces. Raises GymError with one sentence."""
    gym_id = name.removeprefix(PREFIX)
    env = make(gym_id)
    try:
        return Environment(_spec(gym_id, env))
    except GymError as error:
        raise GymError(f"cannot train on {name}: {error}") from None
    finally:
        env.close()


def _spec(gym_id: str, env: gym.Env) -> EnvironmentSpec:
    actions, shape = Actions.of(env.action_space), env.observation_space.shape
    assert shape is not None and env.spec is not None  # after flattening, and by `gym.make`
    pixels = shape if len(shape) == 3 else ()
    pictures = env.pictures if isinstance(env, InOneRow) else ()
    layout = _layout(pictures_of({"pixels": pixels, "pictures": pictures}), shape)
    plain = named.split(gym_id)[0]
    atari = bool(ATARI.match(plain))
    fps = float(env.metadata.get("render_fps") or USUAL_FPS)
    known = {"id": gym_id, "actions": dataclasses.replace(actions, dtype="float32").to_json(), "pixels": list(pixels)}
    if pictures:
        known["layout"] = [*map(list, pictures), layout.numbers]
    return EnvironmentSpec(
        name=PREFIX + gym_id,
        title=gym_id,
        sides=1,
        tick_rate=ATARI_FPS / ATARI_SKIP if atari else fps,
        action_repeat=1,
        time_limit=env.spec.max_episode_steps or 0,
        world=(0.0, 0.0, 4.0, 3.0),
        n_obs=layout.features + layout.numbers,
        n_actions=actions.outputs,
        target=env.spec.reward_threshold,
        training=suggested(plain, layout.pictures, layout.alone),
        environment=Made(gym_id, actions, pixels, tuple(_wrappers(env)), left_out(env), pictures),
        atari=atari,
        rules_hash=hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:16],
    )


def _layout(pictures: tuple[tuple[int, ...], ...], shape: tuple[int, ...]) -> Layout:
    """What is read of observations of this shape. Raises GymError for pictures that are too many or too large."""
    size = sum(map(math.prod, pictures))
    try:
        layout = Layout(pictures, math.prod(shape) - size)
    except ValueError as error:
        raise GymError(f"{error}, with +FilterObservation(filter_keys=[...]) in the name") from None
    if (wide := layout.features + layout.numbers) > MOST_NUMBERS:
        raise GymError(
            f"its pictures give {wide:,} numbers for the first layer, more than the {MOST_NUMBERS:,} that a policy "
            "file holds: make them smaller"
        )
    return layout
