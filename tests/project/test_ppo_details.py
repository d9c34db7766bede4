"""docs/explain/ppo.md: all 37 details are there once, and what a row names exists. docs/explain/ppo-loop.md: its
numbers are those of the Ball Drill.
"""

import re
from pathlib import Path

from dshq_widget.contract.settings import of_drill
from dshq_widget.env.batch import compiled

ROOT = Path(__file__).parents[2]
LEARNERS = ROOT / "dshq_widget/algorithms/ppo/learners"
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs/explain/ppo.md").read_text().splitlines()
    if re.match(r"\| \d", line)
]


def test_the_37_details_are_there_once():
    numbers = [int(number) for row in ROWS for number in re.findall(r"\d+", row[0])]
    assert numbers == sorted(set(numbers)) and numbers[-1] == 37 and len(ROWS) == 37


def test_every_row_says_in_which_file_and_by_which_test_unless_it_is_out():
    for number, name, here, *places in ROWS:
        out = here.startswith("out")
        assert name and (out or all(places)), f"detail {number}"


def test_what_a_row_names_exists():
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    for number, _, _, files, by in ROWS:
        for name in re.findall(r"`([^`]+)`", f"{files} {by}"):
            if name.startswith("test_"):
                assert re.search(rf"\bdef {name}\b", tests), f"detail {number}: no test {name}"
            else:
                assert (ROOT / name).exists() or (LEARNERS / name).exists(), f"detail {number}: no file {name}"


def test_the_loop_has_the_numbers_of_the_ball_drill():
    text = " ".join((ROOT / "docs/explain/ppo-loop.md").read_text().split())
    spec = compiled("ball").spec
    config = of_drill(spec)
    samples = int(config.num_envs * (1 + config.opponents["self"])) * config.rollout_length
    minibatches = samples // config.minibatch_size
    assert config.opponents == {"self": 0.5, "pool": 0.25, "chaser": 0.125, "random": 0.125}
    for said in (
        f"it holds for {spec.action_repeat} ticks",
        f"{config.rollout_length} decisions (`rollout_length`) of {config.num_envs:,} games (`num_envs`)",
        f"{samples:,} samples",
        f"minibatches of {config.minibatch_size:,} samples (`minibatch_size`): {minibatches} of them",
        f"and {config.epochs} epoch.",
        f"`gamma` {config.gamma} and `gae_lambda` {config.gae_lambda}",
        f"clip the gradient's norm at {config.max_grad_norm}",
        f"epsilon = `clip_epsilon` = {config.clip_epsilon} |",
        f"`value_coef` = {config.value_coef} |",
        f"`entropy_coef` = {config.entropy_coef}, falling to 0 |",
    ):
        assert said in text, said
