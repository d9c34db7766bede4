"""What an author writes: a class of declarations and rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from dshq_kernels.language.subset import RulesError, rule
from dshq_kernels.network.layers import Front, Grid, Pairs
from dshq_widget.contract.game_spec import DEFAULT_ALGORITHM, Cells, Choice, Handle, Observation

__all__ = ["Cells", "Choice", "Drill", "Grid", "Handle", "Observation", "Pairs", "RulesError", "rule"]


class Drill:
    """Base class of games. Subclasses declare these attributes and write rules (docs/reference/rules.md).

    name            an identifier of its own: .dshq files find the drill by it
    title           what people read; made of the name where it is empty. The first paragraph of the class's docstring
                    stands beside it: what the game is and how it is won
    sides           1 or 2
    tick_rate       ticks per second
    action_repeat   ticks per decision
    time_limit      ticks after which an episode ends, a multiple of action_repeat: cut off (truncated), unless
                    `terminated` is true there (docs/reference/rules.md, Time)
    world           x0, y0, x1, y1 of what is drawn, in world units; y points up
    mirrored        side 1 observes the world turned by half a turn, so that one policy plays both sides: your rules
                    turn it, in `observe` and where they read side 1's action, and `dshq check` compares
    half_turn       state fields that change sign in that half turn. Array fields of length 2 hold one value a side and
                    swap them, named here or not
    state           field -> type ("f32", "i32", "u32", "bool") or, for an array field, (type, length); 0 at first
    actions         Choice(name, options): an action is one option of each
    keys            KeyboardEvent.code -> (choice, option)
    observations    Observation(name, scale, unit, help): one number each, in the order of o[0, i], o[1, i], ...
    observation_range  (low, high) that `observe` never leaves, where it is known: the bounds that learners of other
                    libraries see
    rewards         reward rule -> weight: the rule's value is paid once per decision
    potentials      potential rule -> weight: gamma * phi(after) - phi(before) is paid once per decision (Ng, Harada
                    & Russell 1999, who count phi of a final state as 0; the learner here keeps it)
    baselines       rules that play: opponents in training, and references in evaluation
    drag            Handle(name, x, y, vx, vy, index, kind): what a pointer may drag; kind "player" or "ball"
    cells           Cells(columns, rows, x0, y0, size, choice): cells that a person who plays may click or tap. The
                    clicked one is that choice's option from the next decision on; keys set the other choices
    show_speed      the initial speed of the match on the page, one of 0.25, 0.5, 1, 2, 4, 8, 16, 32: for slow games
    palette         names of paints (dshq_widget/drill/palette.py); `scene` writes their indices
    shades          paint -> 0 to 3: its shade in frames of four shades, if the default does not suit
    pointed         paints whose boxes look ahead, along their own angle: a frame of four shades gives them a nose,
                    because eyes cannot be seen in 72 x 80 pixels
    legend          paint of the palette -> what it shows, where that is not obvious
    hint            a sentence or two on what to look at, for people who are new to the game
    tags            texts; `tag` in `scene` writes their indices
    scene_max       one more, at least, than the shapes that `scene` draws
    target          one side: the mean return (rewards, not potentials) at which the drill counts as solved
    optimum         one side: the result of perfect play: a mean return, or the name of a baseline that plays perfectly
                    (then decisions are compared). `dshq evaluate` says how close a policy comes
    front           what stands in front of the network's dense layers: a `Grid` that looks ahead, for a game on
                    cells, or `Pairs`, for one whose action is an item and a space (dshq_kernels/network/layers.py)
    algorithm       what trains it unless the user chooses another: a name from algorithms/
    training        settings of TrainConfig that suit this drill better; a user's settings override them
    algorithm_settings  the same of an algorithm's own settings: {"mine": {"repeat": 4}}
    """

    name: ClassVar[str]
    title: ClassVar[str] = ""
    sides: ClassVar[int] = 1
    tick_rate: ClassVar[int] = 120
    action_repeat: ClassVar[int] = 4
    time_limit: ClassVar[int] = 1200
    world: ClassVar[tuple[float, float, float, float]] = (-1.0, -1.0, 1.0, 1.0)
    mirrored: ClassVar[bool] = False
    half_turn: ClassVar[tuple[str, ...]] = ()
    state: ClassVar[Mapping[str, str | tuple[str, int]]] = {}
    actions: ClassVar[tuple[Choice, ...]] = ()
    keys: ClassVar[Mapping[str, tuple[str, str]]] = {}
    observations: ClassVar[tuple[Observation, ...]] = ()
    observation_range: ClassVar[tuple[float, float] | None] = None
    rewards: ClassVar[Mapping[str, float]] = {}
    potentials: ClassVar[Mapping[str, float]] = {}
    baselines: ClassVar[tuple[str, ...]] = ()
    drag: ClassVar[tuple[Handle, ...]] = ()
    cells: ClassVar[Cells | None] = None
    show_speed: ClassVar[float] = 1.0
    palette: ClassVar[tuple[str, ...]] = ()
    shades: ClassVar[Mapping[str, int]] = {}
    pointed: ClassVar[tuple[str, ...]] = ()
    legend: ClassVar[Mapping[str, str]] = {}
    hint: ClassVar[str] = ""
    tags: ClassVar[tuple[str, ...]] = ()
    scene_max: ClassVar[int] = 64
    target: ClassVar[float | None] = None
    optimum: ClassVar[float | str | None] = None
    front: ClassVar[Front | None] = None
    algorithm: ClassVar[str] = DEFAULT_ALGORITHM
    training: ClassVar[Mapping[str, Any]] = {}
    algorithm_settings: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
