"""A reward of one's own: what may be written, that training pays for it, and the lines that the page offers."""

import re
import time

import pytest

from dshq_widget.contract.game_spec import Term
from dshq_widget.drill import own_reward
from dshq_widget.drill.compiled import CompiledDrill, compile_drill
from dshq_widget.drills import get
from dshq_widget.training.trainer import Trainer
from tests.harness.browser.recorded_widget import until
from tests.harness.games.toy_drills import Walk
from tests.harness.typescript import run

SMALL = {"num_envs": 64, "rollout_length": 8, "minibatch_size": 256, "hidden_sizes": (16,), "workers": 0}
MEASURES = """
import { cellOf, measuresOf } from "./js/panels/rewards/own_reward";
export const main = (spec) => measuresOf(spec).map(({ name, line }) => [name, line, cellOf(line)]);
"""


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("0.1 * s.x[i]", None),
        ("  ", None),
        ("s.xx[i]", "did you mean 'x'?"),
        ("s.xx", "the state has no field 'xx'. did you mean `s.x[i]`?"),
        ("xx", "'xx' is not known here. did you mean `s.x[i]`?"),
        ("fa", "'fa' is not known here. did you mean `far(s, i, side)`?"),
        ("fa(s, i, side)", "'fa' is not known here. did you mean 'far'?"),
        ("far", "'far' is a function, and a value is wanted. call it: `far(s, i, side)`."),
        ("abs", "call it: `abs(x)`"),
        ("ball_sped", "use the state (s.x[i]), the rewards (far(s, i, side)) or the words in docs/reference/rules.md."),
        ("s.ticks[i]", "expected f32, got i32"),
        ("1.0; 2.0", "wanted one expression"),
        ("1.0\n+ 2.0", "wanted one line"),
        ("(1.0", "was never closed"),
        ("1.0" + " + 1.0" * 60, "at most 300 letters"),
        ("-" * 290 + "1.0", None),
        ("__import__('os').remove('x')", "is not known here"),
        ("(lambda: 1.0)()", "is not known here"),
        ("().__class__", "is not known here"),
        ("open('x')", "is not known here"),
        ("math.pi", "is not known here"),
        ("9.0 ** 9.0 ** 9.0", "no operator"),
        ("float(random_int(s, i, 3))", "would change rng_count"),
    ],
)
def test_one_expression_of_the_rules_language_and_nothing_else(line, problem):
    drill = compile_drill(Walk)
    if problem is None:
        assert own_reward.check(drill, line) == line.strip()
    else:
        with pytest.raises(ValueError, match="(?i)" + re.escape(problem)):
            own_reward.check(drill, line)


def test_a_line_of_long_rules_is_refused_before_it_takes_a_page_seconds():
    """Twelve calls of a baseline were 20,000 statements: 3 s of a processor in which nobody else was heard."""
    chase, begun = compile_drill(get("chase")), time.process_time()
    assert own_reward.check(chase, "float(tracker(s, i, side))")
    with pytest.raises(ValueError, match="expands to more than 4000 statements"):
        own_reward.check(chase, "+".join(["float(tracker(s,i,side))"] * 11))
    assert time.process_time() - begun < 10


def test_the_same_game_pays_for_it_too():
    plain = compile_drill(Walk)
    paying = own_reward.paying(plain, "0.25")
    assert (paying.name, paying.rules_hash) == (plain.name, plain.rules_hash)
    assert Term("own_reward", 1.0, "reward", "0.25") in paying.spec.terms
    assert own_reward.paying(own_reward.paying(paying, "0.5"), "").spec == plain.spec
    with pytest.raises(ValueError, match="did not come with the class"):
        own_reward.paying(CompiledDrill.from_json(plain.to_json()), "0.25")


@pytest.mark.usefixtures("learners_in_threads")
def test_training_goes_on_with_it_and_without_it():
    with Trainer(Walk, **SMALL) as t:
        t.train_for(updates=1, progress=False)
        assert "reward_own_reward" not in t.metrics
        t.pay_for("0.25")
        t.train_for(updates=2, progress=False, reward_weights={"own_reward": 2.0})
        assert t.metrics["reward_own_reward"] > 0 and t.metrics["updates"] == 3
        t.pay_for("")
        t.train_for(updates=1, progress=False)
        assert t.metrics["updates"] == 4 and t.config.reward_weights == {}


@pytest.mark.usefixtures("learners_in_threads")
def test_a_paused_training_stays_paused_and_keeps_its_end(make):
    w = make("cartpole", **SMALL)
    w._trainer.start(until_solved=True)
    w.pause_training()
    until(lambda: w._trainer.metrics or w._trainer.status == "training")
    w._inbox.take_message({"type": "PAY_FOR", "line": "0.25"}, [])
    until(lambda: w._trainer.status == "training" and "own_reward" in str(w._trainer.drill.spec.terms))
    assert w._trainer.paused and w._trainer._run.control._until_solved


def test_the_page_asks_is_answered_and_gets_the_rules(make):
    w = make(Walk)
    before = w.drill
    for line in ("s.xx[i]", "0.1 * s.x[i]"):
        w._inbox.take_message({"type": "CHECK_REWARD", "line": line}, [])
    bad, good = until(lambda: len(found := w.comm.customs("REWARD_CHECKED")) == 2 and found)
    assert bad["line"] == "s.xx[i]" and "Did you mean 'x'?" in bad["problem"]
    assert good == {"type": "REWARD_CHECKED", "line": "0.1 * s.x[i]", "problem": ""}
    w._inbox.take_message({"type": "PAY_FOR", "line": "s.xx[i]"}, [])
    assert w.drill is before
    w._inbox.take_message({"type": "PAY_FOR", "line": "0.25"}, [])
    assert w.status == "idle" and w.drill["javascript"] != before["javascript"]
    assert w.drill["spec"]["terms"][-1]["name"] == "own_reward" and w.drill["python"] == before["python"]
    w.pay_for("")
    assert w.drill == before


@pytest.mark.parametrize(
    ("drill", "names"),
    [
        ("ball", ["stay_back", "near_ball", "ball_speed", "running"]),
        ("approach", ["near_ball", "ball_speed", "running"]),
        ("chase", ["stay_back", "running"]),
        ("maze", []),
    ],
)
def test_every_line_of_the_page_can_be_paid_for(drill, names):
    compiled = compile_drill(get(drill))
    found = run(MEASURES, compiled.spec.to_json())
    assert [name for name, *_ in found] == names
    for _, line, cell in found:
        assert own_reward.check(compiled, line) == line
        assert cell == f'w.pay_for("{line}")\nw.train()\n'


def test_lines_that_were_paid_for_are_not_kept():
    """A page may ask for thousands, and each is a game of some MB of source."""
    drill = compile_drill(Walk)
    before = compile_drill.cache_info().currsize
    for k in range(3):
        assert own_reward.paying(drill, f"{k}.0").spec.terms[-1].help == f"{k}.0"
    assert compile_drill.cache_info().currsize == before
