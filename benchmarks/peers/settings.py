"""What every library is asked for on CartPole-v1, and the setting that all of them share."""

from __future__ import annotations

import argparse
from typing import Any

from benchmarks.running import parser_of

TARGET, EPISODES = 475.0, 100
"""Gymnasium's `reward_threshold` of CartPole-v1, and the number of episodes that it is a mean of."""
FOREVER = 10**9
"""Agent steps of a run that ends by the clock."""
EQUAL: dict[str, Any] = {
    "games": 128,
    "steps": 32,
    "epochs": 1,
    "minibatch": 64,
    "learning_rate": 5e-3,
    "gamma": 0.98,
    "gae_lambda": 0.9,
    "clip": 0.2,
    "entropy": 0.0,
    "value": 0.5,
    "gradient_norm": 0.5,
    "agent_steps": 300_000,
}
"""The settings `equal`: policy and value apart, 64 and 64 tanh units each, and the values of drills/cartpole.py.
`agent_steps` is the length of the learning rate's schedule: linear to 10 % of it, or to 0 where a library knows no
other.
"""
OWN, SAME, TUNED = "own", "equal", "tuned"
"""A library's own defaults; `EQUAL`; what a library's authors found best for CartPole, where they say so."""


def arguments(description: str | None) -> argparse.Namespace:
    """What the comparison asks of a library's script."""
    parser = parser_of(description)
    parser.add_argument("what", choices=("rate", "solve", "steps"), help="training, until 475, or games alone")
    parser.add_argument("--settings", choices=(OWN, SAME, TUNED), default=OWN)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=10.0, help="after which a run ends in any case")
    parser.add_argument("--threads", type=int, default=1, help="where the library can be told")
    parser.add_argument("--checkout", help="of a library that is in no package index")
    parser.add_argument("--game", default="cartpole", choices=("cartpole", "football", "breakout"), help="of `steps`")
    return parser.parse_args()
