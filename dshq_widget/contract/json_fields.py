"""What `dshq VERB --json` prints as the last line of stdout: one JSON object, its fields by verb.

An algorithm declares what it adds to `train` (`Algorithm.answers`), an installed package what its own verbs say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Entry(NamedTuple):
    """One field: its type, with range and unit, and its meaning."""

    value: str
    meaning: str


NAME, COUNT, SHARE, SECONDS, PATH = "text", "0 or more", "0 to 1", "s, 0 or more", "path, or null"
INTERVAL = "[low, high], or null"

JSON_FIELDS: Mapping[str, Mapping[str, Entry]] = {
    "train": {
        "drill": Entry(NAME, "The drill, or the name of the environment."),
        "algorithm": Entry(NAME, "What trained it."),
        "seed": Entry("0 to 4294967295", "The run's seed."),
        "seconds": Entry(SECONDS, "Training time since status `training`, resumed runs included, evaluation left out."),
        "agent_steps": Entry(COUNT, "Decisions of learning sides, resumed runs included."),
        "agent_steps_per_second": Entry("agent steps/s", "`agent_steps` / `seconds`."),
        "updates": Entry(COUNT, "Updates of the run."),
        "version": Entry(COUNT, "The newest version of the policy; 0 is untrained."),
        "device": Entry("cpu, cuda", "Where it learned."),
        "workers": Entry(COUNT, "Rollout processes; 0: the learner played the games itself."),
        "tuning": Entry("object", "What was fitted to the machine, and why; empty where nothing was."),
        "metrics": Entry("object", "The last value of each [metric](reference/settings.md#metrics)."),
        "out": Entry(PATH, "The policy's file; null where nothing was saved."),
        "saved": Entry("object, or null", "`version` that the file holds, and `why` this one."),
    },
    "sweep": {
        "out": Entry("path", "The sweep's folder."),
        "metric": Entry(NAME, "What the settings were compared by."),
        "runs": Entry(COUNT, "Runs in the folder."),
        "best": Entry("object", "`settings`, and the `mean`, `ci95` and `values` (one a seed) of the metric."),
    },
    "evaluate": {
        "policy": Entry("path, or DRILL:LEVEL", "What was evaluated."),
        "drill": Entry(NAME, "The drill, or the name of the environment."),
        "greedy": Entry("true or false", "Whether the likeliest action was taken; otherwise actions were drawn."),
        "seed": Entry(COUNT, "Seed of the starts and of the actions."),
        "search": Entry("[particles, depth]", "How it searched; only with `--search`."),
        "against": Entry(NAME, "The opponent, in drills of two sides."),
        "matches": Entry(COUNT, "Matches, sides swapped half way."),
        "wins": Entry(COUNT, "Matches won."),
        "draws": Entry(COUNT, "Matches that nobody won."),
        "losses": Entry(COUNT, "Matches lost."),
        "win_rate": Entry(SHARE, "wins / (wins + losses); 0 where nothing was decided."),
        "win_share": Entry(SHARE, "wins / matches."),
        "points": Entry(SHARE, "(wins + draws / 2) / matches."),
        "counts": Entry("true or false", "Whether `win_share` is large enough for `win_rate` to mean something."),
        "mean_goals_for": Entry("goals a match", "Matches won, as goals."),
        "mean_goals_against": Entry("goals a match", "Matches lost, as goals."),
        "ci95": Entry(
            INTERVAL, "95 % interval of `win_rate` (Wilson), or of `return_mean` (normal; null of one episode)."
        ),
        "return_mean": Entry("reward", "Mean return of a match or an episode, potentials left out."),
        "episode_length_mean": Entry("decisions", "Mean length of a match or an episode."),
        "episodes": Entry(COUNT, "Episodes, in drills of one side and in environments."),
        "return_std": Entry("reward", "Standard deviation of the returns."),
        "return_min": Entry("reward", "Smallest return."),
        "return_max": Entry("reward", "Largest return."),
        "target": Entry("reward, or null", "Return at which it counts as solved."),
        "solved": Entry("true, false, or null", "Whether `return_mean` reaches `target`; null without one."),
        "optimality": Entry(SHARE, "How close it comes to perfect play, where the drill knows that."),
        "return_mean_random": Entry("reward", "The same of random play, on the same seeds."),
        "return_mean_scripted": Entry("reward", "The same of the drill's script, on the same seeds."),
    },
    "export": {
        "policy": Entry("path, or DRILL:LEVEL", "What was exported."),
        "drill": Entry(NAME, "What it plays."),
        "to_json": Entry("path", "The file with layers and weights; only with `--to-json`."),
        "onnx": Entry("path", "The ONNX model; only with `--onnx`."),
        "html": Entry("path", "The web page; only with `--html`."),
    },
    "record": {
        "policy": Entry("path, or DRILL:LEVEL", "What played."),
        "drill": Entry(NAME, "What it played."),
        "matches": Entry(COUNT, "Matches that were played."),
        "wins": Entry(COUNT, "Matches won."),
        "seed": Entry(COUNT, "Seed of the match that was recorded."),
        "decisions": Entry(COUNT, "Its length."),
        "return": Entry("reward", "Its return."),
        "pictures": Entry(COUNT, "Frames of the GIF."),
        "gif": Entry("path", "The GIF."),
    },
    "trace": {
        "drill": Entry(NAME, "What was played."),
        "backend": Entry("cpu, reference, js, wasm, cuda, wgsl", "What ran the rules."),
        "seed": Entry(COUNT, "The first of 16 games' seeds."),
        "ticks": Entry(COUNT, "Ticks of each game."),
        "episodes": Entry(COUNT, "Episodes that ended."),
        "sha256": Entry("hex", "Of all state fields after every tick; equal on all back ends but wgsl."),
        "views_sha256": Entry("hex", "Of observations, rewards, masks and winners."),
        "games": Entry(COUNT, "Number of games, only on wgsl, which is not exact to the bit and so has no hashes."),
        "max_abs_error": Entry("0 or more", "Largest difference to the processor's states after one decision."),
        "unequal": Entry(COUNT, "Whole numbers that differ."),
        "adapter": Entry(NAME, "WebGPU's adapter."),
    },
    "check": {
        "drills": Entry(
            "list",
            "Of each drill its name (`drill`), `ok`, and `checks`: `name`, `ok`, `text`, `mend`, `where`. "
            "With `--debug`: `decisions`, `episodes`, `warnings`.",
        )
    },
    "bench": {
        "machine": Entry("object", "Processor or GPU, and versions."),
        "drill": Entry(NAME, "What was played."),
        "ceilings": Entry("object", "What this machine can do: `gemm_gflops_per_core`, `copy_gb_per_second`."),
        "rates": Entry(
            "object",
            "What this package does: `sim_ticks_per_second_per_core`, `inferences_per_second_per_core`, "
            "`update_samples_per_second`, `agent_steps_per_second`.",
        ),
        "ratios": Entry("object", "`tiles_to_naive_layout`: how many times as fast as the same rules game by game."),
    },
    "ingest": {
        "drill": Entry(NAME, "What was drawn."),
        "device": Entry("cpu, cuda", "Where."),
        "games": Entry(COUNT, "Games at once."),
        "seconds": Entry(SECONDS, "How long it was measured."),
        "frames": Entry(COUNT, "Frames drawn."),
        "frames_per_second": Entry("frames/s", "`frames` / `seconds`."),
        "bytes_per_frame": Entry("bytes", "Of a packed frame."),
        "bytes_per_second": Entry("bytes/s", "Into replay memory."),
        "memcpy_bytes_per_second": Entry("bytes/s", "Rate of copying alone, in pieces of the same size."),
        "host_copies": Entry("0 or more, or null", "Copies between GPU and host; null where nothing was counted."),
        "guard": Entry(NAME, "What `--guard` checked; empty without it."),
    },
    "doctor": {
        "checks": Entry("list", "Of each check `name`, `ok`, `value` and `advice`."),
        "first": Entry(NAME, "What to do first; empty where this machine is ready."),
    },
    "lab": {
        "url": Entry("URL", "JupyterLab's address, token included."),
        "folder": Entry("path", "Where the lessons are."),
        "notebook": Entry("path", "The lesson that is open."),
    },
    "play": {
        "url": Entry("URL", "The page's address, token included; printed once it serves."),
        "drill": Entry(NAME, "What is played."),
    },
    "info": {
        "drill": Entry(NAME, "The drill's name."),
        "title": Entry(NAME, "Its name for people."),
        "about": Entry(NAME, "What it is and how it is won."),
        "sides": Entry("1 or 2", "How many sides decide."),
        "tick_rate": Entry("1/s", "Ticks a second."),
        "action_repeat": Entry("ticks", "How long a decision is held."),
        "time_limit": Entry("ticks", "When an episode ends at the latest."),
        "rules_hash": Entry("hex", "Changes with the rules."),
        "observations": Entry("list", "`index`, `name`, `scale`, `unit`; the network reads value / scale."),
        "meanings": Entry("list", "A text for each observation."),
        "actions": Entry("list", "`index`, and the option of each choice; the first choice varies slowest."),
        "rewards": Entry("list", "`name`, `weight`, `kind`, `help` of each reward term."),
        "state": Entry("list", "`word`, `field`, `type`, `count`: [how it lies in memory](reference/drill-tables.md)."),
        "lanes": Entry("16", "Games of a tile."),
    },
    "config": {
        "algorithm": Entry(NAME, "What the file is for."),
        "file": Entry("YAML", "The file's text."),
    },
}
