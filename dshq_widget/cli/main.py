"""The command `dshq`: one function per verb. With `--json` the last line of stdout is one JSON object. Wrong input
exits with status 2 and one sentence.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Any

from dshq_widget import algorithms
from dshq_widget.cli import drill_argument, interrupts, outputs
from dshq_widget.cli.arguments import BENCHES, UsageError, Verb, know_algorithm, parser
from dshq_widget.cli.ingest import ingest
from dshq_widget.cli.sweep import sweep
from dshq_widget.cli.train import train
from dshq_widget.contract.finite import strict
from dshq_widget.contract.setting import printable_lines
from dshq_widget.system import streams

if TYPE_CHECKING:
    from dshq_widget.env.check_subject import Finding


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit status: 0, 1 when the work failed, 2 for wrong input, 130 after Ctrl-C, 143
    after SIGTERM and 129 after the end of its terminal. A stream that nobody reads any more ends nothing.
    """
    with streams.heard() as out, interrupts.watched():
        try:
            status = _run(list(sys.argv[1:] if argv is None else argv))
            if out is not None and (lost := out.lost):
                print(f"dshq: cannot write to stdout: {lost}", file=sys.stderr)
                return status or 1
            return status
        except (Exception, KeyboardInterrupt) as error:
            end = interrupts.behind(error)
            if end is None:
                raise
            interrupts.hold()
            print(f"\ndshq: {end}", file=sys.stderr)
            _end_children()
            return end.status


def _run(arguments: list[str]) -> int:
    try:
        know_algorithm(arguments)
        try:
            options = parser((*VERBS, *plugged())).parse_args(arguments)
        except SystemExit:  # --help and --version have said what was asked for
            return 0
        result = options.run(options)
    except (ValueError, RuntimeError, MemoryError, OSError) as error:
        if interrupts.behind(error):
            raise
        print(f"dshq: {printable_lines(error)}", file=sys.stderr)
        # ConfigError, CheckpointError, RulesError, UsageError and wrong names are all ValueErrors.
        return 2 if isinstance(error, (ValueError, FileNotFoundError)) else 1
    status = 0
    if isinstance(result, tuple):
        result, status = result
    if result is not None and options.json:
        print(json.dumps(strict(result)), flush=True)
    if status > 128:
        _end_children()
    return status


def _end_children() -> None:
    """End what an interrupted verb has started, at once."""
    if "dshq_widget.runtime.supervisor" in sys.modules:
        sys.modules["dshq_widget.runtime.supervisor"].supervisor(os.getpid()).close(0.0)


def evaluate(options: argparse.Namespace) -> dict[str, Any]:
    """Play a policy against a baseline or another policy."""
    from dshq_widget.env.batch import compiled
    from dshq_widget.policy import checkpoint
    from dshq_widget.training.evaluation import evaluate as run

    saved = checkpoint.load(options.policy)
    drill = options.drill if saved.environment else drill_argument.drill_of(saved, options.policy, options.drill)
    how = {key: getattr(options, key) for key in ("against", "matches", "seed", "greedy", "search", "network")}
    result = run(options.policy, drill, **how)
    if not options.json:
        _print_evaluation(result, [] if saved.environment else compiled(drill).spec.baselines)
    return result


def _print_evaluation(result: dict[str, Any], baselines: Sequence[str]) -> None:
    if "against" in result:
        low, high = result["ci95"]
        counts = f"{result['wins']} won, {result['draws']} drawn, {result['losses']} lost against {result['against']}"
        print(f"{counts}: {result['win_rate']:.1%} of decided matches ({low:.1%} to {high:.1%})")
        return
    episodes, band = f"{result['episodes']} episodes", ""
    if result["ci95"] is None:
        episodes = "one episode, which says little"
    else:
        low, high = result["ci95"]
        band = f" ({low:.2f} to {high:.2f})"
    length = f"{result['episode_length_mean']:.1f} decisions on average"
    print(f"mean return {result['return_mean']:.2f}{band} over {episodes}, {length}")
    if "optimality" in result:
        print(f"{result['optimality']:.1%} of perfect play")
    if "return_mean_random" in result:
        means = [f"{result['return_mean_random']:.2f} by random play"]
        means += [f"{result['return_mean_scripted']:.2f} by {one}" for one in baselines[:1]]
        print(f"on the same seeds: {', '.join(means)}")


def export(options: argparse.Namespace) -> dict[str, Any]:
    """Export a policy as a web page that plays it, as an ONNX model, or as plain JSON."""
    from dshq_widget.policy import checkpoint, loading

    if options.html is None and options.onnx is None and options.to_json is None:
        raise UsageError("nothing to export: add --html MATCH.html, --onnx BOT.onnx, --to-json BOT.json or several")
    targets = {"--to-json": options.to_json, "--onnx": options.onnx, "--html": options.html}
    targets = {name: path for name, path in targets.items() if path is not None}
    outputs.check_results(targets, [path for path in (options.policy, options.drill) if path])
    saved = checkpoint.load(options.policy)
    for feature in ("onnx", "html"):
        if getattr(options, feature) is not None and saved.algorithm in algorithms.algorithms:
            algorithms.algorithms[saved.algorithm].require(feature)
    policy = loading.as_policy(saved)
    wants_rules = options.html or options.drill
    drill = drill_argument.drill_of(saved, options.policy, options.drill) if wants_rules else saved.drill
    result: dict[str, Any] = {"policy": str(options.policy), "drill": saved.drill}
    rules = None
    if options.drill is not None and not saved.environment:
        from dshq_widget.env.batch import compiled

        rules = compiled(drill)
    if options.to_json is not None:
        from dshq_widget.policy.export_json import save_json

        with outputs.written("--to-json", options.to_json):
            result["to_json"] = str(save_json(policy, options.to_json, rules))
        if not options.json:
            print(f"{result['to_json']}: {saved.drill}, version {saved.version}, {policy.spec.floats:,} weights")
    if options.onnx is not None:
        from dshq_widget.policy.export_onnx import outputs_of, save_onnx

        with outputs.written("--onnx", options.onnx):
            result["onnx"] = str(save_onnx(policy, options.onnx, rules))
        if not options.json:
            print(f"{result['onnx']}: observation -> {', '.join(outputs_of(policy))}")
    if options.html is not None:
        from dshq_widget.widget.drill_widget import DrillWidget

        waits = "Making what the page trains with: the learner once for these sources (half a minute), then the rules."
        with (
            outputs.written("--html", options.html),
            outputs.said_if_slow(waits),
            DrillWidget(drill, policy=options.policy, prepare=False) as widget,
        ):
            result["html"] = str(widget.export_html(options.html))
        if not options.json:
            print(f"{result['html']}: {saved.drill}, version {saved.version}, as one web page")
    return result


def record(options: argparse.Namespace) -> dict[str, Any]:
    """Record a policy's fastest win, or its best episode, as a GIF."""
    from dshq_widget.cli import record as films
    from dshq_widget.env.batch import compiled
    from dshq_widget.policy import checkpoint

    target = outputs.writable("--gif", options.gif, ".gif")
    for name, value in (("--matches", options.matches), ("--seconds", options.seconds)):
        outputs.positive(name, value)
    if not 64 <= options.width <= 1920:
        raise UsageError(f"--width must be from 64 to 1920 pixels, got {options.width}")
    saved = checkpoint.load(options.policy)
    if saved.environment:
        raise UsageError(f"{options.policy!r} plays {saved.drill!r}, which is not a drill: only drills can be recorded")
    drill = compiled(drill_argument.drill_of(saved, options.policy, options.drill))
    players = [films.by_file(saved, os.path.basename(options.policy), drill, options.greedy)]
    if drill.spec.sides == 2:
        players.append(films.by_name("scripted" if options.against is None else options.against, drill, options.greedy))
    elif options.against is not None:
        raise UsageError(f"--against: {drill.name!r} has one side, so there is no opponent: leave it out")
    match, wins = films.best_of(drill, players, options.matches, options.seed)
    film = films.pictures(drill, match, seconds=options.seconds, width=options.width, theme=options.theme)
    with outputs.written("--gif", options.gif):
        shown = films.save_gif(target, film)
    result = {
        "policy": str(options.policy),
        "drill": drill.name,
        "matches": options.matches,
        "wins": wins,
        "seed": match.seed,
        "decisions": len(match.actions),
        "return": match.score,
        "pictures": shown,
        "gif": str(target),
    }
    if not options.json:
        length = len(match.actions) * drill.spec.action_repeat / drill.spec.tick_rate
        print(f"{target}: {shown} frames, the end of a {length:.1f} s match (seed {match.seed})")
    return result


def trace(options: argparse.Namespace) -> dict[str, Any]:
    """Play 16 games with fixed random actions and print a hash of all their states, or how far WGSL is from them."""
    from dshq_widget.env.batch import compiled
    from dshq_widget.env.trace import trace as run

    result = run(compiled(drill_argument.drill(options.drill)), options.ticks, options.seed, options.backend)
    if not options.json:
        played = f"{result['ticks']} ticks, {result['episodes']} episodes"
        if "sha256" in result:
            print(f"{result['sha256']}  {result['drill']} on {result['backend']}, {played}")
        else:
            apart = f"{result['max_abs_error']:.3g} apart at most, whole numbers unequal in {result['unequal']}"
            print(f"{result['drill']}: {result['games']} games one decision on, {apart} ({result['adapter']})")
    return result


def check(options: argparse.Namespace) -> tuple[dict[str, Any], int]:
    """Check that the drills in a Python file, or a built-in drill, work correctly."""
    from dshq_widget.drills import drills
    from dshq_widget.env.check import CHECKS, suite, to_json

    marks = {True: "ok ", False: "!! ", None: "-- "}
    reports: list[dict[str, Any]] = []
    chosen = [drills[options.drill]] if options.drill in drills else drill_argument.classes(options.drill)
    if options.debug:
        import bdb

        from dshq_widget.env.debugging import play_a_little

        for drill in chosen:
            try:
                game = play_a_little(drill)
            except bdb.BdbQuit:  # `q` at a breakpoint, or the end of its input
                print("dshq: ended in the debugger", file=sys.stderr)
                return {"drills": reports}, 1
            reports.append({"drill": game.drill.name, "decisions": game.decisions, "episodes": game.episodes})
            reports[-1]["warnings"] = [vars(warning) for warning in game.warnings]
            if not options.json:
                print(game.report())
        return {"drills": reports}, 0
    for drill in chosen:
        found = []
        for finding in _announced(suite(drill), ("rules", *CHECKS), quiet=options.json):
            found.append(to_json(finding))
            if not options.json:
                print(f"{marks[finding.ok]} {finding.name:15} {finding.text}", flush=True)
                if finding.where:
                    print(f"{'':19} {finding.where}")
                if finding.mend:
                    print(f"{'':19} {finding.mend[:1].upper()}{finding.mend[1:]}.")
        passes = all(check["ok"] is not False for check in found)
        reports.append({"drill": getattr(drill, "name", drill.__name__), "ok": passes, "checks": found})
        if not options.json:
            print(f"{reports[-1]['drill']} {'passes all checks' if passes else 'fails'}")
    return {"drills": reports}, 0 if all(report["ok"] for report in reports) else 1


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """Measure how fast this machine is and how close the package comes to it."""
    from dshq_widget.env.batch import compiled

    outputs.positive("--seconds", options.seconds)
    game = compiled(drill_argument.drill(options.drill))
    if options.device in BENCHES:
        from dshq_widget.contract.places import found_at
        from dshq_widget.gpu.device import check_device

        check_device(options.device)
        result = found_at(BENCHES[options.device])(game, options.seconds)
    else:
        from dshq_widget.cli.bench import bench as run

        result = run(game, seconds=options.seconds)
    if not options.json:
        for group in ("ceilings", "rates", "floors", "ratios"):
            for name, value in result.get(group, {}).items():
                print(f"{name:42} {value:>18,.{1 if value >= 10 else 3}f}")
    return result


def doctor(options: argparse.Namespace) -> tuple[dict[str, Any], int]:
    """Check this machine: what is available, what is missing and what will be slow."""
    from dshq_widget.cli.doctor import checks, first

    found = checks()
    todo = first(found)
    if not options.json:
        for check in found:
            print(
                f"{'ok ' if check['ok'] else '!! '} {check['name']:16} {check['value']}"
                + (f"\n{'':20} {check['advice']}" if check["advice"] else "")
            )
        print(f"first: {todo}" if todo else "ready")
    return {"checks": found, "first": todo}, 0


def lab(options: argparse.Namespace) -> None:
    """Copy the lesson notebooks to a folder and open them in JupyterLab."""
    from dshq_widget.notebook.lab import copy_notebooks, serve

    if options.port is not None and not 1 <= options.port <= 65535:
        raise UsageError(f"--port must be from 1 to 65535, got {options.port}")
    folder = outputs.folder("FOLDER", options.folder).resolve()
    with outputs.written("FOLDER", options.folder):
        notebook = copy_notebooks(folder)
    try:
        serve(notebook, port=options.port, browser=not options.no_browser, as_json=options.json)
    except ImportError as error:
        raise UsageError("JupyterLab is not installed: pip install 'dshq-widget[lab]'") from error


def info(options: argparse.Namespace) -> dict[str, Any]:
    """Say what a drill's numbers mean: observations, actions, rewards, and the bytes of a state."""
    from dshq_widget.cli.info import describe, text
    from dshq_widget.env.batch import compiled

    if options.drill.startswith("gym:"):
        raise UsageError(f"{options.drill!r} has no rules of its own to look into: wanted a drill")
    found = describe(compiled(drill_argument.drill(options.drill)).spec)
    if not options.json:
        print(text(found))
    return found


def config(options: argparse.Namespace) -> dict[str, Any]:
    """Print a file for `dshq train --config` with every setting of an algorithm, each with its meaning."""
    from dshq_widget.cli.template import suiting, template

    algorithm = algorithms.chosen(options.template)
    found = template(algorithm, options.drill or suiting(algorithm))
    if not options.json:
        print(found, end="")
    return {"algorithm": algorithm.name, "file": found}


def play(options: argparse.Namespace) -> None:
    """Open a drill's widget in the browser, without Jupyter; runs until Ctrl-C."""
    from dshq_widget.cli.play import play as run

    if not 0 <= options.port <= 65535:
        raise UsageError(f"--port: wanted 0 to 65535, got {options.port}")
    shown, algorithm = drill_argument.drill(options.start), options.algorithm
    policy = drill_argument.policy_file(options.start)
    if policy is not None:
        from dshq_widget.policy import checkpoint

        saved = checkpoint.load(policy)
        shown, algorithm = drill_argument.drill_of(saved, policy, options.drill), algorithm or saved.algorithm
    elif options.drill is not None:
        raise UsageError(f"--drill: it says what a .dshq file was trained on, got {options.start!r}; leave it out")
    how = {"port": options.port, "browser": not options.no_browser, "as_json": options.json}
    run(shown, policy=policy, algorithm=algorithm, engine=options.engine, network=options.network, **how)


def _announced(findings: Iterator[Finding], names: Sequence[str], quiet: bool) -> Iterator[Finding]:
    """Yield the findings as they come; on a terminal, show the running check below them."""
    shown = sys.stdout.isatty() and not quiet
    for k, name in enumerate(names):
        if shown:
            print(f"..  {name:15} {k + 1} of {len(names)}", end="", flush=True)
        finding = next(findings, None)
        if shown:
            print("\r\x1b[K", end="", flush=True)
        if finding is None:
            return
        yield finding


VERBS = (
    train,
    sweep,
    evaluate,
    export,
    record,
    trace,
    check,
    bench,
    ingest,
    doctor,
    lab,
    play,
    info,
    config,
)


def plugged() -> Iterator[Verb]:
    """The verbs of installed packages, this one's rooms above this one included: each entry point of the group
    `dshq_widget.verbs` is a sequence of functions, whose `arguments` (if any) adds a verb's arguments to its parser.
    """
    for entry in metadata.entry_points(group="dshq_widget.verbs"):
        yield from entry.load()


if __name__ == "__main__":
    sys.exit(main())
