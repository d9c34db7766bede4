"""What the learner's WebAssembly module takes: records of 8-byte numbers, and the module itself.

The functions in exported.py and plans.py say what becomes of them; a run's own are in the room `run`.
"""

from __future__ import annotations

from pathlib import Path

from dshq_kernels.backends.wasm import LEARNER_DATA, compiled_module
from dshq_kernels.network.pairs import ENTRIES
from dshq_kernels.run.records import RUN_RECORDS, record

NETWORK = "plan layers activation params"
GAME = "verbs n_verbs tiles tile_bytes n_tiles sides n_obs time_limit action_repeat mask_verb"
SAMPLES = "obs action log_prob value advantage returns mask begins states"

FORWARD = record(f"{NETWORK} x x_other allowed other_allowed memory other_memory keep scratch result")
ROLLOUT = record(
    f"{GAME} groups n_groups opponents length {NETWORK} policies policy_bytes weights potential n_terms gamma "
    f"gae_lambda seed first_count scenes n_scenes scene_words scene_share running memories {SAMPLES} "
    "first_unit stats scratch"
)
UPDATE = record(
    f"plan layers activation state floats gradients scratch scratch_floats {SAMPLES} length order importance n_order "
    "bounds n_bounds normal n_normal advantage_mean advantage_scale reward_scale trained n_trained clip clip_value "
    "value_coef entropy_coef learning_rate epsilon max_norm target_kl steps metrics n_metrics"
)
MATCHES = record(
    f"{GAME} side_of kind other_kind {NETWORK} other_plan other_layers other_activation other_params n_actions greedy "
    "seed weights n_terms results lengths returned actions memories other_memories scratch"
)
OF_NETWORK = record(
    "dense n_dense front n_front in_front memory separate n_obs n_actions length plan layers pieces floats "
    "play_scratch learn_scratch"
)
OTHERS = {"plan_network": OF_NETWORK, **RUN_RECORDS}
"""Of plans.py: function -> the record that it takes."""
RECORDS = {"forward": FORWARD, "play": ROLLOUT, "learn": UPDATE, "matches": MATCHES, **OTHERS}
"""Function -> the record that it takes."""


def learner_module(relaxed: bool = False) -> bytes:
    """The module of the functions of `RECORDS`, and of those that judge pairs, which plans call by their indices in the
    module's table. The same for every drill and every network: the one that came with the package, else one made
    now or earlier on this machine.

    Raises RuntimeError if it cannot be made here.
    """
    built = Path(__file__).with_name("learner_relaxed.wasm" if relaxed else "learner.wasm")
    if built.is_file():
        return built.read_bytes()
    functions = dict.fromkeys((*RECORDS, *ENTRIES), "dshq_kernels.play.exported")
    functions |= dict.fromkeys(("learn", *ENTRIES), "dshq_kernels.play.exported_learn")
    return compiled_module(functions, LEARNER_DATA, relaxed)
