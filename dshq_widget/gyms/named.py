"""Names of environments: an id, where its package is not registered by itself the package, and wrappers.

`MiniGrid-Empty-8x8-v0+FullyObsWrapper` is an environment in a wrapper; arguments are keywords with plain values, such
as `+FilterObservation(filter_keys=["image"])`, and the first wrapper named is the innermost. Wrappers are those of
gymnasium.wrappers and of the environment's own package that change observations, actions or rewards: none that writes
files or opens windows, since names come from files.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any

import gymnasium as gym

from dshq_widget.gyms.parts import parts
from dshq_widget.gyms.reading import MOST_NUMBERS, flat_size
from dshq_widget.policy.action_spaces import GymError

PACKAGES: tuple[tuple[str, str, str], ...] = (
    (r"(MiniGrid|BabyAI)-", "minigrid", "minigrid.wrappers"),
    (r"MinAtar/", "minatar.gym", ""),
)
"""Pattern of an id -> the module that knows how to register it, and the one with its wrappers, if it has any."""
CODES = (11, 6, 4)
"""Numbers of objects, of colours and of states (a door's, or where the agent looks) in a cell of MiniGrid:
`minigrid.core.constants`."""
CODED = re.compile(PACKAGES[0][0])
"""Ids of environments whose pictures hold these codes and not shades."""
MOST_SIZE = 4096
"""Largest whole number that a name may give a wrapper: a side of a picture, a number of bins."""
MOST_PIXELS = 64
"""The same of what is called `..._size`: MiniGrid's pixels of a cell and cells in sight, which are multiplied. A room
of 4,096 pixels a cell takes 17 GB before anything can look at it.
"""
MOST_HELD = 1 << 22
"""Numbers of the observations that wrappers are put around, those of one name together, of what `ResizeObservation`
makes, and of those that one wrapper keeps (assumed). What is larger may be made smaller by no wrapper: the next one may
hold it whole, as `FlattenObservation` holds its bounds.
"""
MOST_WRAPPERS = 8
"""Wrappers of one name (assumed)."""
MULTIPLYING = {"DelayObservation": MOST_HELD, "DiscretizeObservation": MOST_NUMBERS}
"""Wrappers whose memory is the size of an observation times the largest whole number that they are given, and how much
of it they may take: what the second one gives is as wide as that at least.
"""
Wrap = Callable[[gym.Env], gym.Env]


def split(name: str) -> tuple[str, list[str]]:
    """The id, and the wrappers' texts from the innermost on."""
    gym_id, *wrappers = name.split("+")
    return gym_id, wrappers


def register(gym_id: str) -> None:
    """Have the package register its environments, if one is known for this id. Raises GymError if it is missing."""
    for pattern, module, _ in PACKAGES:
        if re.match(pattern, gym_id):
            package = module.partition(".")[0]
            try:
                found = importlib.import_module(module)
            except ImportError as error:
                raise GymError(f"gym:{gym_id} needs {package}: pip install {package}") from error
            if not any(re.match(pattern, known) for known in gym.registry):
                found.register_envs()


def wrapped(env: gym.Env, wrappers: Sequence[str], gym_id: str) -> gym.Env:
    """The environment in the wrappers of these texts, the first one innermost. Raises GymError as `wrapper` does, and
    for more than `MOST_WRAPPERS`.
    """
    if len(wrappers) > MOST_WRAPPERS:
        env.close()
        raise GymError(
            f"gym:{gym_id}: wanted {MOST_WRAPPERS} wrappers at most, got {len(wrappers):,}, since a name may come from "
            "a file, and each may keep observations; put the others around your environment in the module that "
            "registers it"
        )
    for text in wrappers:
        env = wrapper(text, gym_id)(env)
    return env


def wrapper(text: str, gym_id: str) -> Wrap:
    """The wrapper of a text such as `Name` or `Name(key=value)`. Raises GymError for what is none, or not allowed."""
    said = f"gym:{gym_id}+{text}: "
    try:
        call = ast.parse(text.strip(), mode="eval").body
        name = call.func if isinstance(call, ast.Call) else call
        words = call.keywords if isinstance(call, ast.Call) else []
        if not isinstance(name, ast.Name) or (isinstance(call, ast.Call) and call.args):
            raise ValueError
        options = {str(word.arg): ast.literal_eval(word.value) for word in words}
    except (SyntaxError, ValueError) as error:
        raise GymError(
            f"{said}write a wrapper as its name, with plain values by keyword: FilterObservation(filter_keys=['image'])"
        ) from error
    kind = _class(name.id, gym_id)
    plain = (gym.ObservationWrapper, gym.ActionWrapper, gym.RewardWrapper, gym.wrappers.TimeLimit)
    if not (isinstance(kind, type) and issubclass(kind, plain)):
        raise GymError(
            f"{said}wanted a wrapper of observations, actions or rewards from gymnasium.wrappers or the environment's "
            "package; put any other around your environment in the module that registers it"
        )
    small = {key: value for key, value in options.items() if key.endswith("_size")}
    too_large = any(abs(size) > MOST_SIZE for size in _sizes(options))
    if not issubclass(kind, gym.wrappers.TimeLimit) and (too_large or any(abs(n) > MOST_PIXELS for n in _sizes(small))):
        raise GymError(
            f"{said}wanted whole numbers up to {MOST_SIZE:,}, of a ..._size up to {MOST_PIXELS}, since a name may "
            "come from a file, and a size takes memory; put a larger one around your environment in the module that "
            "registers it"
        )
    made: type[Any] = kind

    def put_around(env: gym.Env) -> gym.Env:
        _check_room(env, name.id, options, said)
        return made(env, **options)

    return put_around


def _check_room(env: gym.Env, name: str, options: Mapping[str, Any], said: str) -> None:
    """Before the wrapper is there: it may make what it reads, or many of it, at once. Raises GymError."""
    numbers = sum(flat_size(space) or 0 for _, space in parts(env.observation_space))
    times, most = 1, MOST_HELD
    if name in MULTIPLYING:
        times, most = max(_sizes(options), default=1), MULTIPLYING[name]
    many, together = f"{numbers:,} numbers" + (f", {times:,} times" if times > 1 else ""), _held(env)
    if numbers * times <= most:
        many, most, together = "", MOST_HELD, together + _resized(env, name, options)
    if many or together > most:
        env.close()
        raise GymError(
            f"{said}wanted observations of {most:,} numbers at most, got {many or f'{together:,} numbers together'}, "
            "since a name may come from a file: make them fewer before, or put the wrapper around your environment in "
            "the module that registers it"
        )


def _held(env: gym.Env) -> int:
    """Numbers of all observations that this environment and the wrappers in it have spaces of."""
    spaces = {id(env.observation_space): env.observation_space}
    while isinstance(env, gym.Wrapper):
        env = env.env
        spaces[id(env.observation_space)] = env.observation_space
    return sum(flat_size(part) or 0 for space in spaces.values() for _, part in parts(space))


def _resized(env: gym.Env, name: str, options: Mapping[str, Any]) -> int:
    """Numbers of what this wrapper makes, where that is a picture of any size."""
    if name != "ResizeObservation":
        return 0
    return prod(_sizes(options.get("shape"))) * prod((env.observation_space.shape or ())[2:])


def _sizes(value: Any) -> Iterator[int]:
    """All whole numbers in plain values."""
    if isinstance(value, int):
        yield value
    elif isinstance(value, dict):
        yield from _sizes([*value, *value.values()])
    elif isinstance(value, (list, tuple, set)):
        for one in value:
            yield from _sizes(one)


def _class(name: str, gym_id: str) -> Any:
    own = next((module for pattern, _, module in PACKAGES if module and re.match(pattern, gym_id)), "")
    for place in filter(None, (own, "gymnasium.wrappers")):
        found = getattr(importlib.import_module(place), name, None)
        if found is not None:
            return found
    return None
