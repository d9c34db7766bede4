"""Writes the copy of the learner's tables that the trainer in the page reads: `make tables`."""

import json
from typing import Any

from dshq_kernels.backends.wasm import STACK_TOP
from dshq_kernels.network import layers, mlp, pairs
from dshq_kernels.play import loops, rollout
from dshq_kernels.play.records import RECORDS
from dshq_kernels.run.records import REALS
from dshq_widget.algorithms.ppo.learners import fused, learner, normalizer
from dshq_widget.learning import evaluator, exploration, run, schedule
from dshq_widget.learning.league import collapse_guard, fall_test, league, succession
from dshq_widget.learning.opponents import slots as opponents
from dshq_widget.learning.scenes import evaluation as scene_evaluation
from dshq_widget.policy import checkpoint, convolutions, layout, network


def trainer_ts() -> str:
    """`js/trainer/tables.ts`: what the trainer in the page shares with the kernels and with the kernel's learner."""
    constants: dict[str, Any] = {
        "STACK_TOP": STACK_TOP,
        "RECORDS": {name: kind.names for name, kind in RECORDS.items()},
        "REALS": REALS,
        "STATS": loops.STATS,
        "DRAWS": {
            "starts": rollout.STARTS,
            "match_starts": rollout.MATCH_STARTS,
            "orders": learner.ORDERS,
            "weights": network.WEIGHTS,
        },
        "KEPT_WORDS": loops.KEPT_WORDS,
        "PLAN_COLUMNS": mlp.PLAN_COLUMNS,
        "PAIR_ENTRIES": tuple(pairs.ENTRIES),
        "PIECES": mlp.PIECES,
        "ACTIVATIONS": mlp.ACTIVATIONS,
        "GATES": layers.GATES,
        "MOST_WORK": layers.MOST_WORK,
        "MOST_SWEEPS": layers.MOST_SWEEPS,
        "MOST_VISITS": layers.MOST_VISITS,
        "MOST_NEAR": layers.MOST_NEAR,
        "WAYS": layers.WAYS,
        "BLOCK": layers.BLOCK,
        "SUM_NAMES": fused.SUM_NAMES,
        "ADAM_EPSILON": learner.ADAM_EPSILON,
        "KL_MARGIN": learner.KL_MARGIN,
        "FINAL_RATE": schedule.FINAL_RATE,
        "WARM_UP": schedule.WARM_UP,
        "FIRST_COUNT": normalizer.FIRST_COUNT,
        "SMALLEST": normalizer.SMALLEST,
        "GAINS": {
            "hidden": network.HIDDEN_GAIN,
            "policy": network.POLICY_GAIN,
            "value": network.VALUE_GAIN,
            "context": network.CONTEXT_GAIN,
            "grid": network.GRID_DEVIATION,
            "memory": network.MEMORY_GAIN,
        },
        "MOST_SLOTS": opponents.MOST_SLOTS,
        "EVALUATION": {
            "matches": evaluator.MATCHES,
            "episodes": evaluator.EPISODES,
            "ema": evaluator.EMA,
            "most_share": evaluator.MOST_SHARE,
        },
        "RUN": {
            "report_seconds": run.REPORT_SECONDS,
            "rest_seconds": run.REST_SECONDS,
            "rollback_rate": run.ROLLBACK_RATE,
            "least_rate": run.LEAST_RATE,
            "most_skips": run.MOST_SKIPS,
            "most_reverts": run.MOST_REVERTS,
            "recovery": run.RECOVERY,
        },
        "GUARD": {
            "kl_limit": collapse_guard.KL_LIMIT,
            "value_limit": collapse_guard.VALUE_LIMIT,
            "value_memory": collapse_guard.VALUE_MEMORY,
            "value_warm_up": collapse_guard.VALUE_WARM_UP,
            "strikes": collapse_guard.STRIKES,
        },
        "SCENES": {
            "matches": scene_evaluation.MATCHES,
            "pause_seconds": scene_evaluation.PAUSE_SECONDS,
            "most_share": scene_evaluation.MOST_SHARE,
        },
        "FILE": {
            "most_bytes": checkpoint.MAX_FILE_BYTES,
            "most_of_header": checkpoint.MAX_HEADER_BYTES,
            "most_layers": checkpoint.MAX_LAYERS,
            "most_width": checkpoint.MAX_WIDTH,
            "most_tensors": checkpoint.MAX_TENSORS,
            "most_dimensions": checkpoint.MAX_DIMENSIONS,
            "most_count": checkpoint.MOST_COUNT,
            "most_pictures": layout.MOST_PICTURES,
            "large_picture": convolutions.LARGE,
        },
        "CONVOLUTIONS": convolutions.CONVOLUTIONS,
        "OF_SMALL": convolutions.OF_SMALL,
        "ENTROPY": {
            "updates": exploration.UPDATES,
            "reserve": exploration.RESERVE,
            "first_bonus": exploration.FIRST_BONUS,
            "largest_bonus": exploration.LARGEST_BONUS,
            "memory": exploration.MEMORY,
        },
        "FALL": {
            "fall": fall_test.FALL,
            "middle": fall_test.MIDDLE,
            "false_alarms": fall_test.FALSE_ALARMS,
            "spread": fall_test.SPREAD,
            "suspicion": fall_test.SUSPICION,
            "futile": fall_test.FUTILE,
            "pairs": fall_test.PAIRS,
            "batches": fall_test.BATCHES,
            "worth": fall_test.WORTH,
            "crowning": succession.CROWNING,
            "testing": succession.TESTING,
        },
        "LEAGUE": {
            "capacity": league.CAPACITY,
            "most_snapshots": league.MOST_SNAPSHOTS,
            "most_matches": succession.MOST_MATCHES,
            "recent": league.RECENT,
            "best": league.BEST,
            "most_bytes": league.MOST_BYTES,
            "latest": league.LATEST,
            "uniform": league.UNIFORM,
            "hardness": league.HARDNESS,
            "ema": league.EMA,
            "pinned_matches": league.PINNED_MATCHES,
            "champion_matches": league.CHAMPION_MATCHES,
            "rival_matches": league.RIVAL_MATCHES,
            "rivals": league.RIVALS,
            "champion_series": league.CHAMPION_SERIES,
            "round_series": league.ROUND_SERIES,
            "base_elo": league.BASE_ELO,
            "base_matches": league.BASE_MATCHES,
            "thrift": league.THRIFT,
            "meetings": league.MEETINGS,
            "leavers": league.LEAVERS,
            "opponents": league.OPPONENTS,
        },
    }
    head = "// Written by `make tables` from dshq_kernels and dshq_widget: change it there.\n"
    body = [f"export const {name} = {json.dumps(value, indent=2)} as const;\n" for name, value in constants.items()]
    return "\n".join([head, *body])
