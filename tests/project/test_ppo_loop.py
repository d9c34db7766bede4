"""docs/explain/ppo-loop.md: its numbers are those of the Ball Drill."""

from pathlib import Path

from dshq_widget.contract.settings import of_drill
from dshq_widget.env.batch import compiled

PAGE = Path(__file__).parents[2] / "docs/explain/ppo-loop.md"


def test_the_loop_has_the_numbers_of_the_ball_drill():
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
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
