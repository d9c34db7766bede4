"""Small descriptions of games for tests that need only some of it."""

from dshq_widget.contract.game_spec import DrillSpec

NOTHING = DrillSpec(
    name="small",
    title="Small",
    sides=1,
    tick_rate=60,
    action_repeat=1,
    time_limit=60,
    world=(-1.0, -1.0, 1.0, 1.0),
    n_obs=1,
    n_actions=2,
    rules_hash="0" * 16,
    fields=(),
    actions=(),
    keys={},
    observations=(),
    drag=(),
    palette=(),
    scene_max=1,
    mirrored=False,
)
"""A drill of one side without state; `dataclasses.replace` gives it what a test needs."""
