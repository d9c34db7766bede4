"""Slips that beginners make first get a hint that names them."""

import numpy as np
import pytest
import torch

from dshq_widget.lessons import check
from dshq_widget.lessons.checks.speed import network_flops
from tests.lessons.attempts import changed
from tests.lessons.attempts import ppo as ppos
from tests.lessons.attempts import world_models as models

CLIP = "np.clip(reward - threshold, -1, 1)"
SIGNAL = f"np.where(capacity > 0, {CLIP}, -1.0)"
EACH = """for chunk, advantage in zip(chunks, advantages):
        slope[chunk] += advantage
        slope -= advantage * p"""
AT_ONCE = "slope[chunks] += advantages\n    slope -= advantages.sum() * p"
WEIGHED = "(rewards - baseline)[:, None] * slopes"


@pytest.mark.parametrize(
    ("module", "part", "names", "edits", "told"),
    [
        ("bandit", 0, "estimate", ("counts[arm] += 1", "n = counts[arm] + 1", "/ counts[arm]", "/ n"), "After 1 play"),
        (
            *("bandit", 0, "estimate"),
            ("counts[arm] += 1\n", "n = np.float64(counts[arm])\n", "/ counts[arm]", "/ n\n    counts[arm] += 1"),
            "Count the play first",
        ),
        ("policy_gradient", 0, "softmax", ("(-1, keepdims=True)", "(-1)"), "wrong for three at once"),
        (
            *("policy_gradient", 2, "policy_gradient"),
            (WEIGHED, "[(reward - baseline) * slope for reward, slope in zip(rewards, slopes)]"),
            "With a number for each play",
        ),
        ("policy_gradient", 3, "seeing_gradient", ("baseline)[:, None]", "baseline)"), "a column with `[:, None]`"),
        ("ppo_loop", 0, "next_value", ("last = after.copy()", "last = after"), "changes `after`"),
        ("ppo_loop", 2, "update", ("*(row[part] for row in rows)", "*rows[part]"), "`rows` is a list of tensors"),
        ("ppo", 0, "gae", ("lambda * carry", "lambda * advantages[t + 1]"), "behind the last decision"),
        ("ppo", 1, "policy_loss", ("(log_prob - old_log_prob).exp()", "log_prob / old_log_prob"), "Logarithms are"),
        ("gate", 1, "expected signal", (SIGNAL, f"{CLIP} if capacity > 0 else -1.0"), "np.where(capacity > 0"),
        ("gate", 2, "training_rewards stepped", (EACH, AT_ONCE), "np.add.at"),
        ("exploration", 1, "promise", ("return paid if", "return np.nan if"), "Nothing follows the end"),
    ],
)
def test_a_hint_names_the_slip(module, part, names, edits, told):
    answer = changed(module, part, names, *edits, torch=torch, nn=torch.nn)
    with np.errstate(divide="ignore"):
        assert told in str(check(module.replace("_", "-"), **answer))


@pytest.mark.parametrize(
    ("lesson", "answer", "told"),
    [
        ("ppo", ppos.ATTEMPTS["the whole loss"].wrong["a column"], "`[:, 0]`"),
        ("world-models", models.ATTEMPTS["plan"].wrong["one lucky dream"], "one of them alone is luck"),
        ("gate", {"survival": lambda *_: np.nan}, "yours says nan"),
        ("exploration", {"promise": lambda *_: np.nan}, "yours gives nan"),
        ("speed", {"flops": network_flops, "floor": lambda *_: (np.nan, "memory")}, "yours is nan s"),
    ],
)
def test_a_hint_says_what_was_given(lesson, answer, told):
    assert told in str(check(lesson, **answer))
