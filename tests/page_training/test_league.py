"""The page's league makes the choices of Python's where matches end alike: rivals, draws, champion, rows, tensors."""

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

from dshq_kernels.play.players import POLICY, RANDOM
from dshq_kernels.play.rollout import Player
from dshq_widget.contract.game_spec import DrillSpec
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning.league import league
from dshq_widget.learning.league.league import League
from dshq_widget.policy.checkpoint import CheckpointError
from dshq_widget.policy.network import PolicySpec
from dshq_widget.widget import page_protocol
from tests.harness.games.specs import NOTHING
from tests.harness.run_kernels import run_module
from tests.harness.typescript import run

LEAGUE = """
import { League } from "./js/trainer/league/league";
import { rowsForPage } from "./js/trainer/league/league_rows";
import { type Player, POLICY, RANDOM } from "./js/trainer/games/players";
import { PolicyFileError } from "./js/trainer/files/policy_file";
import type { Tensor } from "./js/trainer/files/tensor";
import { kernelsOf } from "./js/tests/harness/run_kernels";

const ARRAYS: Record<string, any> = { F32: Float32Array, F64: Float64Array, U8: Uint8Array };
const strength = ({ kind, weights }: Player) => (kind === POLICY ? weights![0]! : kind === RANDOM ? 0 : 3);

/** As `matches_end` in Python. */
function play(first: Player, second: Player, matches: number, seed: number) {
  const found = { wins: 0, draws: 0, losses: 0 };
  const share = Math.min(Math.max(45 + 5 * (strength(first) - strength(second)), 1), 94);
  let x = (seed + 7919 * strength(first) + 104729 * strength(second)) >>> 0;
  for (let k = 0; k < matches; k++) {
    x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
    const chance = (x >>> 16) % 100;
    found[chance < share ? "wins" : chance < share + 5 ? "draws" : "losses"] += 1;
  }
  return found;
}

const shown = (state: Record<string, Tensor>) =>
  Object.fromEntries(Object.entries(state).map(([name, { dtype, shape, data }]) => [name, { dtype, shape, data }]));
const noted = ({ ["train.league.notes"]: notes }: Record<string, Tensor>) => ({ "train.league.notes": notes });
const tensor = ({ dtype, shape, data }: any) => ({ dtype, shape, data: ARRAYS[dtype].from(data) }) as Tensor;
const read = (state: any) => Object.fromEntries(Object.entries(state).map(([name, value]) => [name, tensor(value)]));

export function main({ module, drill, floats, seed, capacity, steps }: any) {
  const kernels = kernelsOf(module);
  let league = new League(drill, floats, seed, play, kernels);
  league.capacity = capacity ?? league.capacity;
  return steps.map(([what, ...given]: any[]) => {
    if (what === "round") {
      const [weights, version, step, updates, hyper] = given;
      const problem = league.holdRound(Float32Array.from(weights), version, step, updates, hyper, version % 5 !== 0);
      return [problem, league.metrics, league.best, noted(league.state())];
    }
    if (what === "draw") return league.draw(given[0]).map((weights) => weights[0]);
    if (what === "due") return league.due(given[0], given[1], given[2]);
    if (what === "rewards changed") return league.succession.rewardsChanged() ?? "";
    if (what === "go back") return league.goBack(given[0]) ?? "";
    if (what === "start over") return league.succession.test.startOver() ?? "";
    if (what === "rows") return [league.rows(), rowsForPage(league.rows())];
    if (what === "state") return shown(league.state());
    try {
      league = new League(drill, floats, seed, play, kernels);
      league.capacity = capacity ?? league.capacity;
      league.restore(read(given[0]));
      return "";
    } catch (error) {
      if (!(error instanceof PolicyFileError)) throw error;
      return error.message;
    }
  });
}
"""
SPEC = dataclasses.replace(
    NOTHING, name="two", sides=2, baselines=("chaser", "keeper"), time_limit=1200, action_repeat=4
)
FLOATS = PolicySpec((1, 1, 2), "tanh").floats
DTYPES = {"F32": np.float32, "F64": np.float64, "U8": np.uint8}


def strength(player: Player) -> int:
    return int(player.blob[0]) if player.kind == POLICY else 0 if player.kind == RANDOM else 3


def matches_end(_drill: Any, first: Player, second: Player, matches: int, *, seed: int = 0) -> dict[str, int]:
    """Matches by chance alone, with the chances of two strengths."""
    found = {"wins": 0, "draws": 0, "losses": 0}
    share = min(max(45 + 5 * (strength(first) - strength(second)), 1), 94)
    x = (seed + 7919 * strength(first) + 104729 * strength(second)) & 0xFFFFFFFF
    for _ in range(matches):
        x = (x * 1664525 + 1013904223) & 0xFFFFFFFF
        chance = (x >> 16) % 100
        found["wins" if chance < share else "draws" if chance < share + 5 else "losses"] += 1
    return found


@pytest.fixture(autouse=True)
def by_chance(monkeypatch):
    monkeypatch.setattr(league, "evaluate", matches_end)


def fresh(seed: int, capacity: int | None = None, spec: DrillSpec = SPEC) -> League:
    made = League(CompiledDrill(spec, "", "", ""), PolicySpec((1, 1, 2), "tanh"), seed)
    made.capacity = capacity or made.capacity
    return made


def steps_of(seed: int, rounds: int) -> list[list]:
    """A run that gets better and worse, with opponents drawn, rows asked for and the league saved in between."""
    rng = np.random.default_rng(seed)
    steps: list[list] = [["due", 0, 0, 10], ["rows"], ["state"]]
    level = 0.0
    for k in range(rounds):
        level += float(rng.normal(0.3, 1)) - 6 * (k % 12 == 11)
        weights = [round(level), *rng.standard_normal(FLOATS - 1).astype(np.float32).tolist()]
        hyper = {"learning_rate": 0.003 + k / 1000, "epochs": 2, "hidden_sizes": [8]}
        steps += [["round", weights, 3 * k + 1, 100_000 * k, 40 * k, hyper]]
        steps += [["draw", int(rng.integers(1, 9))] for _ in range(int(rng.integers(3)))]
        steps += [["start over"]] * (k % 13 == 9) + [["rewards changed"]] * (k % 17 == 16)
        steps += [["due", 40 * k + int(rng.integers(80)), 100_000 * k + int(rng.integers(8_000_000)), 40]]
        steps += [["rows"]] * (k % 7 == 3) + [["state"], ["save"]] * (k % 11 == 5)
    return [*steps, ["rows"], ["state"], ["draw", 40]]


def written(state: dict[str, np.ndarray]) -> dict[str, Any]:
    names = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
    return {
        key: {"dtype": names[tensor.dtype], "shape": list(tensor.shape), "data": tensor.ravel().tolist()}
        for key, tensor in state.items()
    }


def played(mine: League, steps: list[list]) -> tuple[list, list[list]]:
    """What Python's league says at each step; and the steps with what was saved in them."""
    said: list[Any] = []
    for step in steps:
        what, *given = step
        if what == "round":
            problem = mine.hold_round(np.array(given[0], np.float32), *given[1:], watch=given[1] % 5 != 0)
            best = vars(mine.champion) | {"weights": mine.champion.weights.tolist()}
            notes = {"train.league.notes": written(mine.state())["train.league.notes"]}
            said.append([problem, mine.metrics, best, notes])
        elif what == "rewards changed":
            mine.succession.rewards_changed()
            said.append("")
        elif what == "go back":
            mine.go_back(*given)
            said.append("")
        elif what == "start over":
            mine.succession.test.start_over()
            said.append("")
        elif what == "draw":
            said.append([float(weights[0]) for weights in mine.draw(*given)])
        elif what == "due":
            said.append(mine.due(*given))
        elif what == "rows":
            said.append([mine.rows(), page_protocol.league(mine.rows())])
        elif what == "state":
            said.append(written(mine.state()))
        else:
            state = mine.state()
            step.append(written(state))
            mine = fresh(mine.seed, mine.capacity)
            mine.restore(state)
            said.append("")
    return said, steps


def close(mine: Any, theirs: Any, where: str = "") -> None:
    """Equal, floats to nine digits; the notes are compared as JSON."""
    if isinstance(mine, dict):
        assert mine.keys() == theirs.keys(), where
        for key, value in mine.items():
            one, other = value, theirs[key]
            if key == "train.league.notes":
                one, other = (json.loads(bytes(tensor["data"])) for tensor in (one, other))
            close(one, other, f"{where}.{key}")
    elif isinstance(mine, list):
        assert len(mine) == len(theirs), where
        for k, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            close(a, b, f"{where}[{k}]")
    elif isinstance(mine, float):
        assert theirs == pytest.approx(mine, rel=1e-9, abs=1e-9), where
    else:
        assert mine == theirs, where


def given(seed: int, steps: list[list], capacity: int | None = None, spec: DrillSpec = SPEC) -> dict[str, Any]:
    return {
        "module": run_module(),
        "drill": spec.to_json(),
        "floats": FLOATS,
        "seed": seed,
        "capacity": capacity,
        "steps": steps,
    }


@pytest.mark.parametrize(("seed", "capacity", "rounds"), [(0, 10, 40), (5, 12, 40), ((1 << 32) - 1, None, 30)])
def test_a_whole_run_is_the_same(seed, capacity, rounds):
    said, steps = played(fresh(seed, capacity), steps_of(seed & 0xFF, rounds))
    for k, (mine, theirs) in enumerate(zip(said, run(LEAGUE, given(seed, steps, capacity)), strict=True)):
        close(mine, theirs, f"step {k}, {steps[k][0]}")
    rows = said[-3][0]
    assert len(rows) == 2 + (capacity or rounds) and sum(row.get("champion", False) for row in rows) <= 1
    if rounds > 20 and not capacity:
        assert len(said[-3][1]) == 20, "the page gets the first ones only"


def test_each_continues_what_the_other_saved():
    """Python's league reads the page's tensors, whose notes write 1.0 as 1, and the next rounds are equal."""
    before = [step for step in steps_of(1, 14)[:-1] if step[0] != "save"]
    (*_, state) = run(LEAGUE, given(3, before, 10))
    found, again, alone = fresh(3, 10), fresh(3, 10), fresh(3, 10)
    found.restore({key: np.array(t["data"], DTYPES[t["dtype"]]).reshape(t["shape"]) for key, t in state.items()})
    played(alone, before)
    again.restore(alone.state())
    after = [step for step in steps_of(2, 9) if step[0] != "save"]
    for mine, theirs in zip(played(again, after)[0], played(found, after)[0], strict=True):
        close(mine, json.loads(json.dumps(theirs)))


def test_a_run_that_goes_on_from_an_earlier_policy_forgets_the_later_ones():
    steps = [step for step in steps_of(3, 6) if step[0] == "round"] + [["go back", 200_000], ["rows"]]
    steps += [["due", 1000, 200_001, 40], ["due", 1000, 10**9, 40], *steps_of(4, 3)[3:]]
    said, _ = played(fresh(4), steps)
    for mine, theirs in zip(said, run(LEAGUE, given(4, steps)), strict=True):
        close(mine, theirs)
    rows, *due = said[7:10]
    assert sorted(row["name"] for row in rows[0]) == ["chaser", "random", "v1", "v4", "v7"]
    assert due == [False, True], "the next round costs as much as before"


def test_large_networks_have_a_smaller_pool():
    probe = 'import { League } from "./js/trainer/league/league";\nexport const main = ({ drill, sizes }: any) =>\n'
    probe += (
        "  sizes.map((floats: number) => new League(drill, floats, 0, () => { throw new Error(); }, null!).capacity);"
    )
    specs = [PolicySpec((9, width, 4), "tanh") for width in (4, 64, 2000, 5000, 30_000)]
    wanted = [League(CompiledDrill(SPEC, "", "", ""), spec, 0).capacity for spec in specs]
    assert run(probe, {"drill": SPEC.to_json(), "sizes": [spec.floats for spec in specs]}) == wanted
    assert len(set(wanted)) > 2


def test_a_drill_of_one_side_has_no_league():
    spec = dataclasses.replace(SPEC, sides=1)
    state = written(played_out().state())
    steps = [["due", 1000, 10**9, 1], ["rows"], ["state"], ["save", state], ["rows"]]
    assert run(LEAGUE, given(0, steps, spec=spec)) == [False, [[], []], {}, "", [[], []]]


def test_a_drill_without_baselines_has_one_pinned_player():
    spec = dataclasses.replace(SPEC, baselines=())
    steps = [step for step in steps_of(4, 6) if step[0] != "save"]
    said, _ = played(fresh(4, spec=spec), steps)
    for mine, theirs in zip(said, run(LEAGUE, given(4, steps, spec=spec)), strict=True):
        close(mine, theirs)


def played_out() -> League:
    found = fresh(7)
    played(found, [step for step in steps_of(7, 4) if step[0] == "round"])
    return found


def test_leagues_that_do_not_fit_are_refused():
    good = written(played_out().state())
    notes = json.loads(bytes(good["train.league.notes"]["data"]))

    def noted(**changed: Any) -> dict[str, Any]:
        data = list(json.dumps({**notes, **changed}).encode())
        return {"train.league.notes": {"dtype": "U8", "shape": [len(data)], "data": data}}

    def tensor(name: str, shape: list[int], dtype: str = "F32") -> dict[str, Any]:
        return {f"train.league.{name}": {"dtype": dtype, "shape": shape, "data": [0.0] * int(np.prod(shape))}}

    unreadable = {
        "no snapshots": noted(snapshots=None),
        "one too few": noted(snapshots=notes["snapshots"][1:]),
        "no settings": noted(snapshots=[{**row, "hyper": None} for row in notes["snapshots"]]),
        "no champion": noted(champion={}),
        "half a round": noted(rounds=0.5),
        "a version before the first": noted(snapshots=[{**row, "version": -1} for row in notes["snapshots"]]),
        "more points than matches": noted(snapshots=[{**row, "win_rate": 2.0} for row in notes["snapshots"]]),
        "too many snapshots": noted(snapshots=notes["snapshots"][:1] * 201)
        | tensor("weights", [201, FLOATS])
        | tensor("table", [2, 203, 203], "F64"),
        "not json": {"train.league.notes": {"dtype": "U8", "shape": [2], "data": [0x7B, 0xFF]}},
    }
    different = {
        "narrow weights": tensor("weights", [4, FLOATS - 1]),
        "narrow champion": tensor("champion", [FLOATS + 1]),
        "narrow opponents": tensor("opponents", [2, FLOATS - 1]),
        "small table": tensor("table", [2, 5, 5], "F64"),
    }
    beaten = good["train.league.table"]
    odd = {"points of nobody": {"train.league.table": {**beaten, "data": [-x - 1 for x in beaten["data"]]}}}
    odd |= {"matches without end": {"train.league.table": {**beaten, "data": [1e300] * len(beaten["data"])}}}
    cases = {**unreadable, **different, **odd}
    said = run(LEAGUE, given(7, [["save", {**good, **change}] for change in cases.values()] + [["save", {}], ["rows"]]))
    for (name, change), sentence in zip(cases.items(), said, strict=False):
        tensors = {**good, **change}
        arrays = {key: np.array(t["data"], DTYPES[t["dtype"]]).reshape(t["shape"]) for key, t in tensors.items()}
        if name != "no settings":  # Python finds out when it is asked for them
            with pytest.raises(CheckpointError, match=r"cannot be read|belongs to a different network|no matches give"):
                fresh(7).restore(arrays)
        if name in unreadable:
            assert sentence.startswith("its league cannot be read ("), name
            assert sentence.endswith("); load only its weights instead"), name
        elif name in different:
            assert sentence == "its league belongs to a different network or has different pinned opponents", name
        else:
            assert sentence == "its league has results that no matches give; load only its weights instead", name
    assert said[-2:] == ["", [[], []]], "a file without a league is no mistake"
