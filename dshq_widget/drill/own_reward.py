"""A reward of one's own: one line of the rules language, which a drill then pays for once per decision.

The line is an expression. It is parsed and translated like a rule (docs/reference/rules.md) and never run as Python.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from dshq_kernels.language.rules import RulesError, stored_by, translate_term
from dshq_kernels.language.subset import written_rule
from dshq_widget.contract import metrics
from dshq_widget.contract.game_spec import Game
from dshq_widget.drill.compiled import CompiledDrill, compile_anew, compile_drill, source_of
from dshq_widget.drill.declaration import Drill

TERM = metrics.OWN_REWARD
"""Its name among the drill's reward terms; its weight there is 1."""
MOST_LETTERS, MOST_STATEMENTS = 300, 4000
"""Of a line, and that it may grow to with the rules that it calls: a drill takes a second to translate with it then."""


def check(drill: Game, line: str) -> str:
    """The line without spaces around it; "" pays for nothing. Raises ValueError or RulesError with one sentence."""
    author, line = _author(drill), line.strip()
    if line:
        _translated(_with(author, line))
    return line


def paying(drill: Game, line: str) -> CompiledDrill:
    """The same game, which also pays for `line`; "": for nothing more. It keeps its name and its rules' hash, because
    the same policies play it, and replays of it are the same. Raises ValueError or RulesError with one sentence.
    """
    author, line = _author(drill), check(drill, line)
    if not line:
        return _compiled(author)
    compiled = compile_anew(_with(author, line))
    terms = tuple(replace(term, help=line) if term.name == TERM else term for term in compiled.spec.terms)
    spec = replace(compiled.spec, terms=terms, rules_hash=_compiled(author).rules_hash)
    return replace(compiled, spec=spec, author=author)


def _compiled(drill: type[Drill]) -> CompiledDrill:
    return compile_drill(drill)  # type: ignore[arg-type]  # mypy doubts that classes can be hashed


def _author(drill: Game) -> type[Drill]:
    if not isinstance(drill, CompiledDrill) or drill.author is None:
        raise ValueError(f"{drill.name} takes no reward of your own: its rules did not come with the class they are in")
    return drill.author


def _with(author: type[Drill], line: str) -> type[Drill]:
    if len(line) > MOST_LETTERS or len(line.splitlines()) > 1:
        raise ValueError(f"wanted one line of at most {MOST_LETTERS} letters")
    try:
        ast.parse(line, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        what = getattr(error, "msg", None) or str(error) or type(error).__name__
        raise ValueError(f"wanted one expression such as `0.02 * abs(s.ticks[i])`: {what}") from None
    if hasattr(author, TERM):
        raise ValueError(f"{author.name} has a rule {TERM!r} already")
    body = {
        "__doc__": author.__doc__,
        "__module__": author.__module__,
        "rewards": {**author.rewards, TERM: 1.0},
        TERM: written_rule(TERM, ("s", "i", "side"), line),
    }
    return type(author.__name__, (author,), body)


def _translated(drill: type[Drill]) -> None:
    try:
        source = replace(source_of(drill), most_statements=MOST_STATEMENTS)
        changed = stored_by(translate_term(source, TERM))
    except RulesError as error:
        raise RulesError(_short(str(error))) from None
    except (RecursionError, ArithmeticError) as error:
        raise ValueError(f"this line cannot be translated: {error}") from None
    if changed:
        raise ValueError(f"a reward only reads the game, and this line would change {', '.join(sorted(changed))}")


def _short(message: str) -> str:
    """Without the place, which is this line, and without the line itself."""
    what, _, rest = message.partition("\n")
    mend = rest.partition("\n")[2]
    return " ".join(part for part in (what.rpartition(f"in rule {TERM!r}: ")[2] + ".", mend) if part)
