"""What a policy reads of an environment's observations: numbers in one row, large pictures in grey, small ones whole.

Of a Dict or a Tuple each part is read as what it is. Parts that cannot be numbers, as texts, are left out; `left_out`
says which.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from dshq_widget.gyms.parts import InOneRow, Only, parts
from dshq_widget.policy import convolutions
from dshq_widget.policy.action_spaces import GymError

SIDE, STACK = 84, 4
"""Width and height of what a policy reads of a large picture, and how many of them: Mnih et al., 2015; Machado et al.,
"Revisiting the arcade learning environment", 2018."""
SMALLEST_GREY = 32
"""Pixels; a narrower picture keeps its size and its channels."""
MOST_CHANNELS = 64
"""Of a small picture (assumed): more are numbers that only look like one."""
MOST_NUMBERS = 1 << 16
"""Of one observation beside its pictures: a policy file has no wider layer, and a name, which may come from a file, can
ask for more than the memory holds (`+DiscretizeObservation(bins=1000)` of three numbers is a row of a billion).
"""


class Without(gym.ObservationWrapper):
    """A Dict without some of its parts."""

    def __init__(self, env: gym.Env, names: tuple[str, ...]):
        super().__init__(env)
        assert isinstance(env.observation_space, gym.spaces.Dict)
        self.left_out = names
        kept = {key: space for key, space in env.observation_space.spaces.items() if key not in names}
        self.observation_space = gym.spaces.Dict(kept)

    def observation(self, observation: dict[str, Any]) -> dict[str, Any]:
        """See `gymnasium.ObservationWrapper`."""
        return {key: value for key, value in observation.items() if key not in self.left_out}


class SmallPicture(gym.ObservationWrapper):
    """uint8 `[channels, height, width]` of a picture `[height, width]` or `[height, width, channels]` of shades or of
    yes and no. With `codes` each channel k is a number below `codes[k]` and becomes `codes[k]` channels of yes and no.
    """

    def __init__(self, env: gym.Env, codes: tuple[int, ...] = ()):
        super().__init__(env)
        space = env.observation_space
        assert isinstance(space, gym.spaces.Box)
        height, width, *deep = space.shape
        self.codes = codes
        self.factor = 255 if codes else 255 // max(int(space.high.max()), 1)
        channels = sum(codes) or (deep[0] if deep else 1)
        self.observation_space = gym.spaces.Box(0, 255, (channels, height, width), np.uint8)

    def observation(self, observation: NDArray[Any]) -> NDArray[np.uint8]:
        """See `gymnasium.ObservationWrapper`."""
        picture = observation.reshape(*observation.shape[:2], -1)
        if self.codes:
            parts = [picture[..., k, None] == np.arange(n) for k, n in enumerate(self.codes)]
            picture = np.concatenate(parts, -1)
        shades = picture.astype(np.uint8) * np.uint8(self.factor)
        return np.ascontiguousarray(shades.transpose(2, 0, 1))


def readable(env: gym.Env, codes: tuple[int, ...] = (), flat: bool = False) -> gym.Env:
    """The environment with observations as a policy reads them. `codes`: what the channels of small pictures hold, if
    not shades; the picture then stands for everything beside it. `flat`: pictures beside numbers are numbers, too.
    Raises GymError if there is nothing to read, or more than `MOST_NUMBERS`.
    """
    env = _without_texts(env, codes)
    space = env.observation_space
    read = [(path, part) for path, part in parts(space) if _has_numbers(part)]
    if not flat and any(_is_picture(part) for _, part in read):
        _check_size(env, [part for _, part in read if not _is_picture(part)])
        if len(read) > 1:
            return InOneRow(env, lambda part: _seen(part, ()), _is_picture, _has_numbers)
        [(path, _)] = read
        return _seen(Only(env, path) if path else env, codes)
    try:
        gym.spaces.flatdim(space)
    except (ValueError, NotImplementedError) as error:
        env.close()
        raise GymError(f"its observations {space} have no fixed size{_reason(error)}") from None
    _check_size(env, [space])
    return gym.wrappers.FlattenObservation(env)


def _check_size(env: gym.Env, spaces: Sequence[gym.Space[Any]]) -> None:
    """Before anything of that size is made. Raises GymError."""
    numbers = sum(map(gym.spaces.flatdim, spaces))
    if numbers > MOST_NUMBERS:
        env.close()
        raise GymError(
            f"its observations are {numbers:,} numbers each, more than the {MOST_NUMBERS:,} that a policy reads: make "
            "them fewer with a wrapper, such as +FilterObservation(filter_keys=[...]) in the name"
        )


def left_out(env: gym.Env) -> tuple[str, ...]:
    """Names of the parts that are not read, from the wrappers."""
    names: tuple[str, ...] = ()
    while isinstance(env, gym.Wrapper):
        if isinstance(env, (Without, Only, InOneRow)):
            names = (*env.left_out, *names)
        env = env.env
    return names


def _without_texts(env: gym.Env, codes: tuple[int, ...]) -> gym.Env:
    space = env.observation_space
    if not isinstance(space, gym.spaces.Dict):
        return env
    pictures = [key for key, part in space.spaces.items() if _is_picture(part)]
    if codes and len(pictures) == 1:
        names = tuple(key for key in space.spaces if key not in pictures)
    else:
        names = tuple(key for key, part in space.spaces.items() if not _has_numbers(part))
    if len(names) == len(space.spaces):
        env.close()
        raise GymError(f"its observations are texts alone ({', '.join(names)}): a policy reads numbers and pictures")
    return Without(env, names) if names else env


def _has_numbers(space: gym.Space[Any]) -> bool:
    """Whether it flattens to a row of numbers that mean something: a Text flattens to the numbers of its letters."""
    return not isinstance(space, gym.spaces.Text) and flat_size(space) is not None


def flat_size(space: gym.Space[Any]) -> int | None:
    """Numbers of a row of it; None where it has no fixed number."""
    try:
        return int(gym.spaces.flatdim(space))
    except (ValueError, NotImplementedError):
        return None


def _is_picture(space: gym.Space[Any]) -> bool:
    if not isinstance(space, gym.spaces.Box) or len(space.shape) not in (2, 3):
        return False
    least, channels = min(space.shape[:2]), space.shape[2] if len(space.shape) == 3 else 1
    if space.dtype == np.uint8 and least >= SMALLEST_GREY:
        return channels in (1, 3)
    return space.dtype in (np.uint8, np.bool_) and least >= convolutions.SMALLEST and channels <= MOST_CHANNELS


def _seen(env: gym.Env, codes: tuple[int, ...]) -> gym.Env:
    shape = env.observation_space.shape or ()
    if env.observation_space.dtype != np.uint8 or min(shape[:2]) < SMALLEST_GREY:
        return SmallPicture(env, codes if len(shape) == 3 and shape[2] == len(codes) else ())
    if len(shape) == 3 and shape[-1] == 3:
        env = gym.wrappers.GrayscaleObservation(env)
    elif len(shape) == 3:  # grey already: without its axis of one channel
        env = gym.wrappers.ReshapeObservation(env, shape[:2])
    env = gym.wrappers.ResizeObservation(env, (SIDE, SIDE))
    return gym.wrappers.FrameStackObservation(env, STACK)


def _reason(error: Exception) -> str:
    return f": {error}" if str(error) else "; leave parts out with +FilterObservation(filter_keys=[...]) in the name"
