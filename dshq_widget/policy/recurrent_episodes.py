"""Episodes of a drill of one side, played by a network with a memory: one decision of all games at a time."""

from __future__ import annotations

import numpy as np

from dshq_kernels.network.mlp import FORBIDDEN
from dshq_kernels.play.rollout import Matches, match_pay, match_starts
from dshq_kernels.simd.lanes import LANES
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.policy.recurrent import RecurrentNetwork


def decide(
    network: RecurrentNetwork,
    seen: np.ndarray,
    allowed: np.ndarray | None,
    state: np.ndarray,
    draw: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Actions i32 `[tiles, 16]`, the logarithms of their probabilities and the values, f32 `[tiles, 16]`, and the next
    state of the memories.

    `seen` f32 `[tiles, n_obs, 16]` and `allowed` bool `[tiles, n_actions, 16]` (None: everything) are as tiles have
    them, `state` is f32 `[tiles, 16, 2 memory]`. `draw` f64 `[tiles, 16]` in [0, 1) chooses; None takes the likeliest.
    """
    logits, values, state = network.step(seen.transpose(0, 2, 1), state)
    if allowed is not None:
        logits = np.where(allowed.transpose(0, 2, 1), logits, np.float32(FORBIDDEN))
    logits = logits - logits.max(axis=-1, keepdims=True)
    log_probs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    if draw is None:
        action = log_probs.argmax(axis=-1)
    else:
        sums = np.exp(log_probs).cumsum(axis=-1, dtype=np.float64)
        action = (sums <= (draw * sums[..., -1])[..., None]).sum(axis=-1)
    chosen = np.take_along_axis(log_probs, action[..., None], -1)[..., 0]
    return action.astype(np.int32), chosen, values, state


def play_episodes(
    drill: CompiledDrill,
    network: RecurrentNetwork,
    episodes: int,
    *,
    seed: int,
    greedy: bool = False,
    scene: np.ndarray | None = None,
) -> Matches:
    """As `dshq_kernels.play.rollout.play_matches` of a drill of one side. Raises ValueError for one of two."""
    game, spec = drill.game(), drill.spec
    if spec["sides"] != 1:
        raise ValueError(
            f"a network with a memory plays drills of one side so far, and {spec['name']!r} has two: use one without"
        )
    tiles, _, pick = match_starts(game, spec, episodes, seed, scene)
    rng = np.random.default_rng([seed & 0xFFFFFFFF, 0x15A7])
    shape, pay = (len(tiles), LANES), match_pay(spec)
    result, length, returns = np.zeros(shape, np.int32), np.zeros(shape, np.int32), np.zeros(shape, np.float32)
    state = network.fresh(*shape)
    for t in range(-(-spec["time_limit"] // spec["action_repeat"])):
        allowed = game.mask(tiles)[:, 0] if game.masked else None
        draw = None if greedy else rng.random(shape)
        action, _, _, state = decide(network, game.observe(tiles)[:, 0], allowed, state, draw)
        tiles["action"][:, 0] = action
        game.decide(tiles)
        game.tick(tiles, spec["action_repeat"])
        playing = length == 0
        returns += np.where(playing, np.einsum("bkl,k->bl", game.terms(tiles)[:, 0], pay), np.float32(0))
        terminated, winner = game.status(tiles)
        over = playing & (terminated | (tiles["ticks"] >= spec["time_limit"]))
        length[over], result[over] = t + 1, winner[over]
        if length.all():
            break
    result, length, returns = (rows.ravel()[pick] for rows in (result, length, returns))
    starts = np.zeros((0, tiles.itemsize // (4 * LANES)), np.uint32)
    return Matches(result, length, returns, np.zeros(episodes, np.int64), starts, np.zeros((episodes, 0, 1), np.int32))
