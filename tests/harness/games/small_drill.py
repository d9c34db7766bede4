"""A drill of one side and one number, to try a single rule in."""

import textwrap

from dshq_widget.drill.declaration import Choice, Drill, Observation, rule


def drill_with(tick, **members):
    """The drill whose tick is this rule; `members` are added, or replace what it would declare."""
    body = {
        "name": "bad",
        "state": {"x": "f32", "n": "i32", "row": ("f32", 3)},
        "actions": (Choice("a", ("b", "c")),),
        "observations": (Observation("x"),),
        "reset": rule(reset_x),
        "tick": rule(tick),
        "observe": rule(observe_x),
        **members,
    }
    return type("Bad", (Drill,), body)


def written(path, source, names, arguments="s, i"):
    """`tick` with this body in a file of its own, where it knows the names of a test."""
    path.write_text(f"def tick({arguments}):\n{textwrap.indent(source, '    ')}\n")
    known = dict(names)
    exec(compile(path.read_text(), path, "exec"), known)
    return known["tick"]


def reset_x(s, i):
    s.x[i] = 0.0


def observe_x(s, i, side, o):
    o[0, i] = s.x[i]


def ticked(drill):
    """The first games of a compiled drill after one tick, as Python runs its rules."""
    game = drill.game(reference=True)
    tiles = game.new(1)
    game.tick(tiles)
    return tiles
