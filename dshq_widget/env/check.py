"""Checks that every drill must pass: one suite for built-in drills and for yours (`dshq check my_drill.py`).

A check is a function of a `Subject`. It returns a sentence, or raises `Broken` with what it found and how to fix it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_kernels.backends.reference_game import wanted
from dshq_kernels.language.ir import debugs
from dshq_kernels.language.rules import SHAPES
from dshq_kernels.simd.lanes import LANES
from dshq_widget.contract.game_spec import Term
from dshq_widget.drill.compiled import CompiledDrill, compile_drill
from dshq_widget.drill.declaration import Drill
from dshq_widget.drill.palette import PAINTS
from dshq_widget.drills import drills
from dshq_widget.env.batch import Batch
from dshq_widget.env.check_clock import clock
from dshq_widget.env.check_observations import observations
from dshq_widget.env.check_subject import Broken, Finding, Impossible, Subject
from dshq_widget.env.trace import node, trace

BETTER = 0.1
"""A baseline's mean reward per episode must exceed random play's by this."""
KINDS = {kind: name for name, (kind, _) in SHAPES.items()}
"""Name of each kind of shape, by its number in a scene."""
TRACE_TICKS = 600


# -- the declaration


def declaration(it: Subject) -> str:
    """Names are unique and known, keys reach every option, and the declaration is valid JSON."""
    spec = it.spec
    same_name = drills.get(it.drill.name)
    if same_name and compile_drill(same_name).rules_hash != it.drill.rules_hash:  # type: ignore[arg-type]
        raise Broken(
            f"the package has a different drill called {it.drill.name!r}",
            "choose a different `name`: a .dshq file finds its drill by name",
        )
    unknown = next((name for name in spec.palette if name not in PAINTS), None)
    if unknown is not None:
        raise Broken(f"the palette has no paint called {unknown!r}", f"choose from {', '.join(PAINTS)}")
    said = spec.to_json()
    if json.loads(json.dumps(said)) != said:
        raise Broken("the declaration cannot be sent to the page as JSON", "use only text, numbers, tuples and dicts")
    for table in ("observations", "terms", "actions", "drag"):
        names = [row["name"] for row in said[table]]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise Broken(f"{table} has {twice!r} twice", "give each a different name")
    for choice in spec.actions:
        options = choice.options
        played = {option for name, option in spec.keys.values() if name == choice.name}
        unused = [option for option in options[1:] if option not in played]
        if played and unused:
            raise Broken(
                f"no key selects {choice.name} = {unused[0]!r}",
                f'add one to `keys`: "KeyX": ("{choice.name}", "{unused[0]}")',
            )
    if all(term.kind == "potential" for term in spec.terms):
        raise Broken("nothing is rewarded", 'add a reward for playing well: rewards = {"win": 1.0}')
    return f"{spec.n_actions} actions, {spec.n_obs} observations, {len(spec.terms)} reward terms"


# -- playing it


def determinism(it: Subject) -> str:
    """The same seed gives the same bits; a different seed gives a different game."""
    for practice in (False, True):
        runs = []
        for seed in (3, 3, 4):
            state = it.game.new(2, seed=seed, practice=practice)
            it.play(state, 400)
            runs.append(state.tobytes())
        if runs[0] != runs[1]:
            raise Broken("two runs with the same seed differ", "report this: it is a bug in the package")
        if runs[0] == runs[2]:
            raise Broken("two seeds give the same game", "use random(s, i) in `reset`")
    return "two runs of 400 decisions with the same seed give the same bits"


def javascript(it: Subject) -> str:
    """The rules give the same bits in JavaScript and on the CPU."""
    try:
        node()
    except RuntimeError as error:
        raise Impossible(str(error)) from error
    python = "reference" if wanted() else "cpu"
    runs = [trace(it.drill, TRACE_TICKS, 1, backend) for backend in (python, "js")]
    for key, what in (("sha256", "states"), ("views_sha256", "observations, rewards or baselines")):
        if runs[0][key] != runs[1][key]:
            raise Broken(
                f"{what} differ between Python and JavaScript",
                "report this with the drill: it is a bug in the rules language",
            )
    return f"{TRACE_TICKS} ticks of 16 games have the same hash on the CPU and in JavaScript"


def mirror(it: Subject) -> str:
    """A game and its half turn, played with swapped actions, stay half turns of each other to the bit."""
    if not it.spec.mirrored:
        raise Impossible("the drill does not set `mirrored`")
    game, spec = it.game, it.spec
    state = game.new(16, seed=10, practice=True)
    turned = it.half_turn(state)
    mend = (
        "list every field that changes sign in `half_turn`; store what belongs to a side in fields of length 2; "
        "compute the effects of both sides on a thing from the same state; multiply a place drawn by random() "
        "during the game by 1.0 or -1.0, depending on the side that caused it (docs/reference/rules.md, Two sides)"
    )
    for k in range(600):
        seen, other = game.observe(state), game.observe(turned)[:, ::-1]
        if not np.array_equal(seen, other):
            at = np.argwhere(seen != other)[0]
            name = spec.observations[at[2]].name
            raise Broken(f"after {k} decisions side {at[1]} and its mirror image see {name!r} differently", mend)
        paid, other = game.terms(state), game.terms(turned)[:, ::-1]
        if not np.array_equal(paid, other):
            raise Broken(f"the reward term {spec.terms[np.argwhere(paid != other)[0][2]].name!r} favours a side", mend)
        actions = game.actions(state, "random")
        if k % 3 == 0 and spec.baselines:
            name = spec.baselines[k // 3 % len(spec.baselines)]
            actions = game.actions(state, name)
            if not np.array_equal(game.actions(turned, name), actions[:, ::-1]):
                raise Broken(f"the baseline {name!r} plays the two sides differently", mend)
        turned["rng_count"] = state["rng_count"]
        over = it.advance(state, actions)
        it.advance(turned, actions[:, ::-1])
        differs = it.unequal(it.half_turn(state), turned)
        if differs == "rng_count":
            raise Broken(
                f"after {k + 1} decisions a game and its mirror image have called random() a different number of times",
                mend,
            )
        if differs:
            raise Broken(f"after {k + 1} decisions {differs!r} is not the mirror image", mend)
        game.reset(state, over)
        fresh = it.half_turn(state)
        for name in it.names:
            lanes = over if state[name].ndim == 2 else over[:, None]
            turned[name] = np.where(lanes, fresh[name], turned[name])
    return "256 games and their mirror images stay identical for 600 decisions"


def finite(it: Subject) -> str:
    """No state field and no reward term ever holds NaN or infinity."""
    state = it.game.new(8, seed=11, practice=True)
    for k in it.moments(state, 500):
        for name, kind, _ in it.spec.fields:
            if kind == "f32" and not np.isfinite(state[name]).all():
                raise Broken(
                    f"state field {name!r} is not finite after {k} decisions",
                    "avoid division by zero: max(divisor, 1e-6)",
                )
        wrong = np.argwhere(~np.isfinite(it.game.terms(state)))
        if len(wrong):
            name = it.spec.terms[wrong[0][2]].name
            raise Broken(f"reward term {name!r} is not finite", "avoid division by zero: max(divisor, 1e-6)")
    return "500 decisions of 128 games without NaN or infinity"


def random_actions(it: Subject) -> str:
    """Random play uses every allowed action."""
    state = it.game.new(64, seed=2)
    n = it.spec.n_actions
    counts, chances = np.zeros(n), np.zeros(n)
    for _ in range(100):
        allowed = it.game.mask(state) != 0  # (n_tiles, sides, n_actions, 16)
        drawn = it.game.actions(state, "random")
        counts += np.bincount(drawn.ravel(), minlength=n)
        chances += (allowed / allowed.sum(axis=2, keepdims=True)).sum(axis=(0, 1, 3))
        it.game.reset(state, it.advance(state, drawn))
    if (counts < 0.8 * chances - 30).any():
        raise Broken(f"action {int(np.argmin(counts - chances))} is almost never drawn", "report this with the drill")
    return f"each of {int((chances > 0).sum())} allowed actions is drawn with the right frequency"


def reset(it: Subject) -> str:
    """A new episode keeps nothing of the last one, does not start finished, and starts its clock at 0."""
    played = it.game.new(4, seed=6, practice=True)
    it.play(played, 200)
    everywhere = np.ones((4, LANES), bool)
    fresh = it.game.new(4, seed=0)
    for name in ("rng_key", "rng_count", "practice"):
        fresh[name] = played[name]
    it.game.reset(played, everywhere)
    it.game.reset(fresh, everywhere)
    kept = it.unequal(played, fresh)
    if kept:
        raise Broken(f"{kept!r} keeps its value from the previous episode", "set it in `reset`")
    for practice in (False, True):
        state = it.game.new(64, seed=12, practice=practice)
        if it.game.status(state)[0].any():
            raise Broken(
                f"an episode is already over when it begins ({'practice' if practice else 'proper'} start)",
                "place things in `reset` so that `terminated` is false",
            )
        if (state["ticks"] != 0).any():
            raise Broken("the clock does not begin at 0", "do not change `ticks`: it is counted automatically")
    return "new episodes keep nothing of the previous one and never start finished"


def snapshot(it: Subject) -> str:
    """A lane restored by copying its words continues exactly as before, whatever the other lanes do."""
    state = it.game.new(1, seed=5, practice=True)
    it.play(state, 50)
    kept = state.copy()
    it.play(state, 200)
    wanted = it.game.words(state)[3]
    other = it.game.new(1, seed=99)
    for name in it.names:
        other[name][..., 3] = kept[name][..., 3]
    it.play(other, 200)
    if not np.array_equal(it.game.words(other)[3], wanted):
        raise Broken("a restored game continues differently", "report this: it is a bug in the package")
    return "a restored game continues with the same bits, whatever the other games do"


def ends(it: Subject) -> str:
    """Every episode ends by the time limit, and nobody wins before its end."""
    lengths = []
    for who in ("random", "idle"):
        state = it.game.new(4, seed=6)
        over = np.zeros((4, LANES), bool)
        for k in range(it.decisions):
            if (state["ticks"][~over] >= it.spec.time_limit).any():
                raise Broken(
                    "an episode continues after its time limit", "do not change `ticks`: it is counted automatically"
                )
            now = it.advance(state, it.game.actions(state, who)) & ~over
            winner = it.game.status(state)[1]
            if not np.isin(winner, (-1, 0, 1)).all():
                raise Broken(
                    f"`winner` returned {int(abs(winner).max())}", "return 1 (side 0), -1 (side 1) or 0", "winner"
                )
            if (winner[~over & ~now] != 0).any():
                raise Broken(
                    "a side has won before the end of the episode",
                    "let `winner` return 0 until `terminated` or the time limit",
                    "winner",
                )
            lengths += [k + 1] * int(now.sum())
            over |= now
            if over.all():
                break
        if not over.all():
            if not it.part:
                raise Broken("an episode does not end", "do not change `ticks`: it is counted automatically")
            left = f"{int((~over).sum())} of {over.size} episodes of {who} play do not end"
            raise Impossible(f"{left}{it.part}")
    return f"all episodes end: after {np.mean(lengths):.0f} decisions on average, {max(lengths)} at most"


def winners(it: Subject) -> str:
    """In a drill of two sides, matches can be won."""
    if it.spec.sides == 1:
        raise Impossible("the drill has one side")
    players = it.spec.baselines or ["random"]
    decided = 0
    for name in players:
        state = it.game.new(16, seed=9)
        over = np.zeros((16, LANES), bool)
        for _ in range(it.decisions):
            actions = it.game.actions(state, "random")
            actions[:, 0] = it.game.actions(state, name)[:, 0]
            ended = it.advance(state, actions) & ~over
            decided += int((it.game.status(state)[1][ended] != 0).sum())
            over |= ended
    matches = 16 * LANES * len(players)
    if not decided:
        if it.part:
            raise Impossible(f"nobody wins{it.part}")
        raise Broken(
            f"nobody wins: {matches} matches of {' and '.join(players)} against random play are all draws",
            "write the rule `winner(s, i)`: return 1 or -1 once side 0 or side 1 has won",
        )
    return f"{decided} of {matches} matches have a winner"


def rewards(it: Subject) -> str:
    """The reward is the sum of its terms, and potentials add up to the difference between end and start."""
    if not it.spec.terms:
        raise Impossible("the drill has no rewards")
    batch = Batch(it.drill, 32, 5, gamma=1.0)
    begin = batch.game.terms(batch.tiles).copy()
    total = np.zeros((32, batch.sides, len(it.spec.terms)))
    for k in range(min(30, it.decisions)):
        reward, paid, _, _ = batch.step(batch.scripted("random"))
        if not np.allclose(reward, paid.sum(-1), atol=1e-5):
            raise Broken(
                f"after {k + 1} decisions the reward is not the sum of its terms", "report this with the drill"
            )
        total += paid
    moved = np.moveaxis(batch.game.terms(batch.tiles) - begin, 3, 1).reshape(total.shape) * batch.weights
    if not np.allclose(total[..., batch.kinds], moved[..., batch.kinds], atol=1e-3):
        raise Broken("a potential pays something other than its change", "report this with the drill")
    silent = _never_pays(it)
    if silent:
        if it.part:
            raise Impossible(f"the {silent.kind} {silent.name!r} pays nothing{it.part}")
        players = " and ".join(("random", *it.spec.baselines))
        raise Broken(
            f"the {silent.kind} {silent.name!r} never pays anything: not in {16 * LANES} episodes of {players} play",
            "look at its condition; a term that is off on purpose has the weight 0",
            silent.name,
        )
    return "rewards are the sum of their terms; potentials pay exactly their change"


def _never_pays(it: Subject) -> Term | None:
    """The first term with a weight that is 0 all the time, or a potential that never changes, whoever plays."""
    silent = {k: term for k, term in enumerate(it.spec.terms) if term.weight}
    for name in ("random", *it.spec.baselines):
        state = it.game.new(16, seed=13, practice=True)
        before = it.game.terms(state)
        for _ in range(it.decisions):
            if not silent:
                return None
            over = it.advance(state, it.game.actions(state, name))
            now = it.game.terms(state)
            for k, term in list(silent.items()):
                if (now[:, :, k] != (before[:, :, k] if term.kind == "potential" else 0)).any():
                    del silent[k]
            it.game.reset(state, over)
            before = it.game.terms(state)
    return next(iter(silent.values()), None)


def baselines(it: Subject) -> str:
    """Baselines give valid actions and earn more than random play."""
    names = it.spec.baselines
    if not names:
        raise Impossible("the drill has no baseline: a scripted player helps training and evaluation")
    chance = _mean_reward(it, "random")
    said = []
    for name in names:
        mean = _mean_reward(it, name)
        if not mean > chance + BETTER:
            if it.part:
                raise Impossible(f"{name} earns {mean:.3g}, random play {chance:.3g}{it.part}")
            raise Broken(
                f"{name} earns {mean:.3g} per episode, random play {chance:.3g}",
                f"a baseline must beat random play by {BETTER} or more: watch it in the widget's sandbox",
                name,
            )
        said.append(f"{name} earns {mean:.3g} per episode")
    return f"{', '.join(said)}, random play {chance:.3g}"


def _mean_reward(it: Subject, who: str) -> float:
    """Mean reward per episode of side 0 against a random side 1, over 512 games."""
    chosen = [k for k, term in enumerate(it.spec.terms) if term.kind == "reward"]
    weights = np.array([it.spec.terms[k].weight for k in chosen])
    state = it.game.new(32, seed=8)
    total, over = np.zeros((32, LANES)), np.zeros((32, LANES), bool)
    for _ in range(it.decisions):
        actions = it.game.actions(state, "random")
        actions[:, 0] = it.game.actions(state, who)[:, 0]
        if actions.min() < 0 or actions.max() >= it.spec.n_actions:
            raise Broken(
                f"{who} returned action {int(actions.min() if actions.min() < 0 else actions.max())}",
                f"actions are numbered 0 to {it.spec.n_actions - 1}; the last choice changes fastest",
                who,
            )
        allowed = np.take_along_axis(it.game.mask(state)[:, 0], actions[:, :1], 1)[:, 0]
        if not allowed[~over].all():
            raise Broken(f"{who} chose an action that the mask forbids", "choose an action that `mask` allows")
        ended = it.advance(state, actions)
        paid = np.einsum("tkl,k->tl", it.game.terms(state)[:, 0, chosen], weights)
        total += np.where(over, 0, paid)
        over |= ended
        if over.all():
            break
    return float(total.mean())


# -- the picture


def scene(it: Subject) -> str:
    """Shapes fit, are finite, have known colours, and are always the same in the same order and colour."""
    state = it.game.new(1, seed=12, practice=True)
    first = it.game.scene(state)
    if not len(first):
        raise Broken("nothing is drawn", "add a shape in `scene`: circle(x, y, r, 0)")
    if len(first) >= it.spec.scene_max:
        raise Broken(f"{len(first)} shapes reach the limit `scene_max`", f"set `scene_max` above {len(first)}")
    if not np.isin(first[:, 0], list(KINDS)).all() or not np.isin(first[:, 1], range(len(it.spec.palette))).all():
        raise Broken("a shape has a colour that is not in the palette", "use 0 to len(palette) - 1")
    for _ in range(300):
        it.play(state, 1)
        shapes = it.game.scene(state, lane=5)
        if not np.isfinite(shapes).all():
            raise Broken(
                "a shape has a place or size that is not a number", "avoid division by zero: max(divisor, 1e-6)"
            )
        _same_shapes(first, shapes, it.spec.palette)
        if (shapes[:, 9] < 0).any() or (shapes[:, 9] > 1).any():
            raise Broken("an alpha is outside 0 to 1", "write clamp(alpha, 0.0, 1.0)")
    return f"{len(first)} shapes, always the same ones in the same order"


def _same_shapes(first: NDArray[Any], shapes: NDArray[Any], palette: Sequence[str]) -> None:
    """Raise Broken if a frame has different shapes from the first one."""
    if len(shapes) != len(first):
        raise Broken(
            f"`scene` draws {len(first)} shapes, then {len(shapes)}",
            "always draw the same shapes; hide one with alpha=0.0",
        )
    for k, (before, now) in enumerate(zip(first[:, :2].astype(int), shapes[:, :2].astype(int), strict=True)):
        if before[0] != now[0]:
            raise Broken(
                f"the shapes change their order: number {k} is a {KINDS[before[0]]}, then a {KINDS[now[0]]}",
                "always draw the same shapes in the same order; hide one with alpha=0.0",
            )
        if before[1] != now[1]:
            colours = " to ".join(palette[c] if c in range(len(palette)) else str(c) for c in (before[1], now[1]))
            raise Broken(
                f"the colour of shape {k}, a {KINDS[now[0]]}, changes: {colours}",
                "draw one shape per colour and hide the others: alpha=1.0 if shown else 0.0",
            )


CHECKS: dict[str, Callable[[Subject], str]] = {
    check.__name__.replace("_", " "): check
    for check in (
        declaration, determinism, javascript, mirror, observations, finite, random_actions, reset, snapshot, ends,
        clock, winners, rewards, baselines, scene,
    )
}  # fmt: skip


ABOUT = {"observations": "observe", "reset": "reset", "winners": "winner", "scene": "scene"}
"""The rule that a check is about."""


def inspect(it: Subject, name: str) -> Finding:
    """Run one check."""
    try:
        with np.errstate(all="ignore"):  # what is no number is said in a sentence
            return Finding(name, True, CHECKS[name](it))
    except Broken as broken:
        return Finding(name, False, broken.text, broken.mend, it.where(broken.rule or ABOUT.get(name, "")))
    except Impossible as reason:
        return Finding(name, None, str(reason))


def suite(drill: type[Drill] | CompiledDrill) -> Iterator[Finding]:
    """Run every check in turn; the first one is whether the rules compile."""
    try:
        it = Subject(drill if isinstance(drill, CompiledDrill) else compile_drill(drill), drill)  # type: ignore[arg-type]
        it.game.new(1)
    except (ValueError, TypeError) as error:
        yield Finding("rules", False, str(error), "fix this and check again")
        return
    program = it.drill.program
    prints = program is not None and any(map(debugs, program.verbs.values()))
    only = "; print and breakpoint in rules act only with --debug" if prints else ""
    yield Finding("rules", True, f"{it.drill.name} compiles to Python and JavaScript{only}")
    for name in CHECKS:
        yield inspect(it, name)


def to_json(finding: Finding) -> dict[str, Any]:
    return {key: getattr(finding, key) for key in ("name", "ok", "text", "mend", "where")}
