"""Bin Pack: load a container with boxes of all sizes that would fill it completely.

Rules and sizes are those of Jumanji's BinPack (Bonnet et al., "Jumanji", 2023): a 20-foot container, items cut from it
at random, so that all of them would fit, and the *spaces* that are left, the largest empty boxes (empty maximal
spaces: Lai and Chan, 1997). An action puts an item into the lower corner of a space; no item is turned. Items are
numbered from the largest, spaces too, and only the 40 largest spaces are known. Units: millimetres.
"""
# ruff: noqa: F821  (random_int, box, ... are words of the rules language)
# mypy: no-check-untyped-defs

from __future__ import annotations

from dshq_widget.drill.declaration import Choice, Drill, Observation, Pairs, rule

ITEMS = 20
SPACES = 40
LENGTH, WIDTH, HEIGHT = 5870, 2330, 2200  # x, y (from the front), z
EXTENT = (LENGTH, WIDTH, HEIGHT)
PER_EXTENT = (1 / LENGTH, 1 / WIDTH, 1 / HEIGHT)
PER_CONTAINER = 1 / (LENGTH * WIDTH * HEIGHT)
SPARED = 0.3  # no item is cut nearer to its end than this share of its length
HALVED = 3 / 17  # this share of cuts is exactly in the middle: Jumanji's .3 * 1/2 of .3 * 1/2 + .7 that cut anything
GOAL = 0.9  # of the container filled, and an episode is a success

SNUG = ("snug length", "snug width", "snug height")  # whether some item and space that go together are equally long
ITEM = ("length", "width", "height", "volume", "fits", *SNUG)  # what a policy sees of each item; it fits somewhere
SPACE = ("left", "right", "front", "back", "bottom", "top", "volume", *SNUG)  # and of each space
MEANINGS = {
    **dict.fromkeys(("length", "left", "right"), "as a share of the container's length"),
    **dict.fromkeys(("width", "front", "back"), "as a share of the container's width"),
    **dict.fromkeys(("height", "bottom", "top"), "as a share of the container's height"),
    "volume": "as a share of the container's",
    "fits": "1: into some space that is left",
    **dict.fromkeys(SNUG, "1: some item and some space that go together are equally long this way"),
}
OF_ITEM, OF_SPACE = len(ITEM), len(SPACE)
SEEN_OF_ITEMS = ITEMS * OF_ITEM
MANY = 2.0  # an item of half the container reads 1

PALETTE = ("mat", "ink", "clay")
FLOOR, INK, CARDBOARD = range(len(PALETTE))
METRE = 1 / 1000
SHARE = 1 / ITEMS
ABOVE = 2.7  # where the view from above begins, m
SHELF = 6.2  # and the items that are left
CELL = 0.85  # each of them has so much room, m
SMALL = 0.14  # and is drawn at this scale
MARGIN = 0.025  # of ink around a box, m


@rule
def volume(x, y, z):
    """A box's volume as a share of the container."""
    return float(x) * float(y) * float(z) * PER_CONTAINER


@rule
def item_volume(s, i, item):
    return volume(s.size[3 * item, i], s.size[3 * item + 1, i], s.size[3 * item + 2, i])


@rule
def space(s, i, k):
    """The six faces of a space."""
    return (
        s.space[6 * k, i],
        s.space[6 * k + 1, i],
        s.space[6 * k + 2, i],
        s.space[6 * k + 3, i],
        s.space[6 * k + 4, i],
        s.space[6 * k + 5, i],
    )


@rule
def put_space(s, i, k, x1, x2, y1, y2, z1, z2):
    s.space[6 * k, i] = x1
    s.space[6 * k + 1, i] = x2
    s.space[6 * k + 2, i] = y1
    s.space[6 * k + 3, i] = y2
    s.space[6 * k + 4, i] = z1
    s.space[6 * k + 5, i] = z2
    s.volume[k, i] = volume(x2 - x1, y2 - y1, z2 - z1)


@rule
def fits(s, i, item, k):
    """Whether an item is still there and space `k` can hold it."""
    x1, x2, y1, y2, z1, z2 = space(s, i, k)
    wide = s.size[3 * item, i] <= x2 - x1 and s.size[3 * item + 1, i] <= y2 - y1
    return k < s.spaces[i] and not s.packed[item, i] and wide and s.size[3 * item + 2, i] <= z2 - z1


@rule
def snug(s, i, item, k, axis):
    """Whether an item is exactly as long as space `k` along an axis."""
    return s.size[3 * item + axis, i] == s.space[6 * k + 2 * axis + 1, i] - s.space[6 * k + 2 * axis, i]


@rule
def swap_items(s, i, a, b):
    for axis in range(3):
        s.size[3 * a + axis, i], s.size[3 * b + axis, i] = s.size[3 * b + axis, i], s.size[3 * a + axis, i]


@rule
def swap_spaces(s, i, a, b):
    s.volume[a, i], s.volume[b, i] = s.volume[b, i], s.volume[a, i]
    for face in range(6):
        s.space[6 * a + face, i], s.space[6 * b + face, i] = s.space[6 * b + face, i], s.space[6 * a + face, i]


@rule
def cut_items(s, i):
    """Cuts the container into items: each cut takes an axis, an item with a chance as its length, and a place."""
    for axis in range(3):
        s.size[axis, i] = EXTENT[axis]
    for n in range(1, ITEMS):
        axis = random_int(s, i, 3)
        total = 0
        for k in range(ITEMS):
            total += s.size[3 * k + axis, i]
        left = random_int(s, i, total)
        chosen = 0
        for j in range(ITEMS):
            chosen = j if left >= 0 else chosen
            left -= s.size[3 * j + axis, i]
        whole = s.size[3 * chosen + axis, i]
        spared = int(SPARED * float(whole))
        anywhere = spared + random_int(s, i, whole - 2 * spared)
        part = whole // 2 if random(s, i) < HALVED else anywhere
        for a in range(3):
            s.size[3 * n + a, i] = s.size[3 * chosen + a, i]
        s.size[3 * n + axis, i] = whole - part
        s.size[3 * chosen + axis, i] = part


@rule
def sort_items(s, i):
    for _ in range(ITEMS):
        for k in range(ITEMS - 1):
            if item_volume(s, i, k + 1) > item_volume(s, i, k):
                swap_items(s, i, k, k + 1)


@rule
def add_space(s, i, x1, x2, y1, y2, z1, z2):
    """Keeps a space at its place by volume, unless a known one holds it; known ones that it holds go. Where there are
    too many the smallest goes.
    """
    held = False
    for k in range(SPACES):
        a1, a2, b1, b2, c1, c2 = space(s, i, k)
        around = a1 <= x1 and a2 >= x2 and b1 <= y1 and b2 >= y2 and c1 <= z1 and c2 >= z2
        held = held or (k < s.spaces[i] and around)
    if not held:
        kept = 0
        for j in range(SPACES):
            if j < s.spaces[i]:
                a1, a2, b1, b2, c1, c2 = space(s, i, j)
                within = a1 >= x1 and a2 <= x2 and b1 >= y1 and b2 <= y2 and c1 >= z1 and c2 <= z2
                if not within:
                    put_space(s, i, kept, a1, a2, b1, b2, c1, c2)
                    kept += 1
        if kept < SPACES or volume(x2 - x1, y2 - y1, z2 - z1) > s.volume[SPACES - 1, i]:
            last = min(kept, SPACES - 1)
            put_space(s, i, last, x1, x2, y1, y2, z1, z2)
            for n in range(SPACES - 1, 0, -1):
                if n <= last and s.volume[n, i] > s.volume[n - 1, i]:
                    swap_spaces(s, i, n, n - 1)
            kept = last + 1
        s.spaces[i] = kept


@rule
def pack(s, i, item, at):
    """Puts an item into the lower corner of a space. The spaces that it reaches into go; what is left of each on the
    six sides of the item are new ones.
    """
    x1, _, y1, _, z1, _ = space(s, i, at)
    x2 = x1 + s.size[3 * item, i]
    y2 = y1 + s.size[3 * item + 1, i]
    z2 = z1 + s.size[3 * item + 2, i]
    s.corner[3 * item, i] = x1
    s.corner[3 * item + 1, i] = y1
    s.corner[3 * item + 2, i] = z1
    s.packed[item, i] = True
    s.newest[i] = item
    kept = 0
    cuts = 0
    for k in range(SPACES):
        if k < s.spaces[i]:
            a1, a2, b1, b2, c1, c2 = space(s, i, k)
            if a1 < x2 and a2 > x1 and b1 < y2 and b2 > y1 and c1 < z2 and c2 > z1:
                for face in range(6):
                    s.cut[6 * cuts + face, i] = s.space[6 * k + face, i]
                cuts += 1
            else:
                put_space(s, i, kept, a1, a2, b1, b2, c1, c2)
                kept += 1
    s.spaces[i] = kept
    for n in range(6 * SPACES):
        if n < 6 * cuts:
            face = n % 6
            first = n - face
            a1 = max(s.cut[first, i], x2) if face == 1 else s.cut[first, i]
            a2 = min(s.cut[first + 1, i], x1) if face == 0 else s.cut[first + 1, i]
            b1 = max(s.cut[first + 2, i], y2) if face == 3 else s.cut[first + 2, i]
            b2 = min(s.cut[first + 3, i], y1) if face == 2 else s.cut[first + 3, i]
            c1 = max(s.cut[first + 4, i], z2) if face == 5 else s.cut[first + 4, i]
            c2 = min(s.cut[first + 5, i], z1) if face == 4 else s.cut[first + 5, i]
            if a1 < a2 and b1 < b2 and c1 < c2:
                add_space(s, i, a1, a2, b1, b2, c1, c2)


@rule
def anything_fits(s, i):
    found = False
    for item in range(ITEMS):
        if not s.packed[item, i] and not found:
            for k in range(SPACES):
                found = found or fits(s, i, item, k)
    return found


@rule
def next_item(s, i, axis, last):
    """The item after `last` from low to high along z, or from the back to the front along y, in a number of its own:
    the place times 32, plus the item.
    """
    way = 32 if axis == 2 else -32
    found = 1 << 30
    for k in range(ITEMS):
        here = way * s.corner[3 * k + axis, i] + k
        found = here if here > last and here < found else found
    return found


@rule
def draw_item(s, i, item, x, y, wide, high, there):
    """A numbered box by its lower left corner, in metres, the newest one lit; `there` 0 hides it."""
    hx = 0.5 * wide
    hy = 0.5 * high
    lit = 1.0 if item == s.newest[i] and s.packed[item, i] else 0.85 - 0.4 * SHARE * float(item)
    box(x + hx, y + hy, hx, hy, 1.0, 0.0, 0.02, INK, alpha=there)
    box(x + hx, y + hy, max(hx - MARGIN, 0.01), max(hy - MARGIN, 0.01), 1.0, 0.0, 0.02, CARDBOARD, alpha=there * lit)
    tag(x + hx, y + hy, 0.13, item, INK, alpha=there)


@rule
def draw_view(s, i, axis, y):
    """The packed items, seen along an axis, what is nearer over what is behind it; `y` is where the view begins."""
    high = EXTENT[3 - axis] * METRE
    box(0.5 * LENGTH * METRE, y + 0.5 * high, 0.5 * LENGTH * METRE + 0.06, 0.5 * high + 0.06, 1.0, 0.0, 0.06, INK)
    box(0.5 * LENGTH * METRE, y + 0.5 * high, 0.5 * LENGTH * METRE, 0.5 * high, 1.0, 0.0, 0.02, FLOOR)
    last = -(1 << 30)
    for _ in range(ITEMS):
        last = next_item(s, i, axis, last)
        item = last & 31
        there = 1.0 if s.packed[item, i] else 0.0
        left = METRE * float(s.corner[3 * item, i])
        low = y + METRE * float(s.corner[3 * item + 3 - axis, i])
        wide = METRE * float(s.size[3 * item, i])
        draw_item(s, i, item, left, low, wide, METRE * float(s.size[3 * item + 3 - axis, i]), there)


class BinPack(Drill):
    """Fill the container: boxes cut from it at random, put one by one into the spaces that are left."""

    name = "binpack"
    title = "Bin Pack"
    sides = 1
    tick_rate = 2
    action_repeat = 1
    time_limit = ITEMS
    world = (-0.25, -0.25, 9.75, 5.28)
    palette = PALETTE
    shades = {"ink": 1, "clay": 2}
    legend = {"clay": "boxes: in the container from the front, above it from above, and what is left beside it"}
    hint = (
        "The left shows one container twice, the right the boxes that are left; a box has the same number in all three "
        "places. The score is the share that is filled."
    )
    tags = tuple(str(k + 1) for k in range(ITEMS))
    scene_max = 9 * ITEMS + 12
    training = {  # .90 of the container after 5 M steps, .915 after 10 M: docs/LOG.md
        "num_envs": 256,
        "rollout_length": 32,
        "epochs": 2,
        "minibatch_size": 2048,
        "hidden_sizes": (128, 128),
        "activation": "relu",
        "learning_rate": 1e-3,
        "total_agent_steps": 20_000_000,
        "gamma": 1.0,
        "entropy_coef": 0.002,
        "min_entropy": 0.0,
    }

    state = {
        "size": ("i32", 3 * ITEMS),  # of each item along x, y, z
        "corner": ("i32", 3 * ITEMS),  # where its lower corner is, once packed
        "packed": ("bool", ITEMS),
        "space": ("i32", 6 * SPACES),  # x1, x2, y1, y2, z1, z2 of each
        "volume": ("f32", SPACES),  # of each, as a share of the container
        "cut": ("i32", 6 * SPACES),  # spaces that the newest item reaches into, while new ones are made of them
        "spaces": "i32",
        "newest": "i32",  # the item packed last
        "gain": "f32",  # its volume
        "filled": "f32",  # all their volume
        "over": "i32",
    }
    actions = (
        Choice("item", tuple(f"item {k + 1}" for k in range(ITEMS))),
        Choice("space", tuple(f"space {k + 1}" for k in range(SPACES))),
    )
    observations = (
        *(
            Observation(f"item {k + 1} {what}", scale=1 / MANY if what == "volume" else 1.0, help=MEANINGS[what])
            for k in range(ITEMS)
            for what in ITEM
        ),
        *(Observation(f"space {k + 1} {what}", help=MEANINGS[what]) for k in range(SPACES) for what in SPACE),
    )
    front = Pairs(items=ITEMS, of_item=OF_ITEM, spaces=SPACES, of_space=OF_SPACE, traits=32, width=32)
    observation_range = (0.0, MANY)
    rewards = {"packed_volume": 1.0}
    optimum = 1.0  # every list of items fills its container
    baselines = ("largest",)

    @rule
    def reset(s, i):
        cut_items(s, i)
        sort_items(s, i)
        s.spaces[i] = 1
        put_space(s, i, 0, 0, LENGTH, 0, WIDTH, 0, HEIGHT)

    @rule
    def tick(s, i):
        """What does not fit ends the episode."""
        item = s.action[0, i] // SPACES
        k = s.action[0, i] % SPACES
        s.gain[i] = 0.0
        s.over[i] = 1
        if fits(s, i, item, k):
            pack(s, i, item, k)
            s.gain[i] = item_volume(s, i, item)
            s.filled[i] += s.gain[i]
            s.over[i] = 0 if anything_fits(s, i) else 1

    @rule
    def mask(s, i, side, m):
        """Item by item, and of each every space."""
        for item in range(ITEMS):
            for k in range(SPACES):
                m[item * SPACES + k, i] = fits(s, i, item, k)

    @rule
    def observe(s, i, side, o):
        for item in range(ITEMS):
            for axis in range(3):
                o[OF_ITEM * item + axis, i] = float(s.size[3 * item + axis, i]) * PER_EXTENT[axis]
            o[OF_ITEM * item + 3, i] = item_volume(s, i, item) * MANY
            somewhere, x, y, z = False, False, False, False
            for k in range(SPACES):
                here = fits(s, i, item, k)
                somewhere = somewhere or here
                x = x or (here and snug(s, i, item, k, 0))
                y = y or (here and snug(s, i, item, k, 1))
                z = z or (here and snug(s, i, item, k, 2))
            o[OF_ITEM * item + 4, i] = 1.0 if somewhere else 0.0
            o[OF_ITEM * item + 5, i] = 1.0 if x else 0.0
            o[OF_ITEM * item + 6, i] = 1.0 if y else 0.0
            o[OF_ITEM * item + 7, i] = 1.0 if z else 0.0
        for k in range(SPACES):
            there = 1.0 if k < s.spaces[i] else 0.0
            for face in range(6):
                share = float(s.space[6 * k + face, i]) * PER_EXTENT[face // 2]
                o[SEEN_OF_ITEMS + OF_SPACE * k + face, i] = there * share
            o[SEEN_OF_ITEMS + OF_SPACE * k + 6, i] = there * s.volume[k, i]
            x, y, z = False, False, False
            for item in range(ITEMS):
                here = fits(s, i, item, k)
                x = x or (here and snug(s, i, item, k, 0))
                y = y or (here and snug(s, i, item, k, 1))
                z = z or (here and snug(s, i, item, k, 2))
            o[SEEN_OF_ITEMS + OF_SPACE * k + 7, i] = 1.0 if x else 0.0
            o[SEEN_OF_ITEMS + OF_SPACE * k + 8, i] = 1.0 if y else 0.0
            o[SEEN_OF_ITEMS + OF_SPACE * k + 9, i] = 1.0 if z else 0.0

    @rule
    def terminated(s, i):
        return s.over[i] == 1

    @rule
    def winner(s, i):
        """1 for a container that is filled to GOAL."""
        return 1 if s.over[i] == 1 and s.filled[i] >= GOAL else 0

    @rule
    def packed_volume(s, i, side):
        return s.gain[i]

    @rule
    def largest(s, i, side):
        """The largest item that fits anywhere, in the smallest space that holds it."""
        found = False
        best = 0
        for item in range(ITEMS):
            if not s.packed[item, i] and not found:
                for k in range(SPACES):
                    here = fits(s, i, item, k)
                    best = item * SPACES + k if here else best
                    found = found or here
        return best

    @rule
    def scene(s, i):
        """From the front, above it from above, and beside them from the front and smaller what is left."""
        draw_view(s, i, 1, 0.0)
        draw_view(s, i, 2, ABOVE)
        for k in range(ITEMS):
            x = SHELF + CELL * float(k % 4)
            y = ABOVE + 1.6 - CELL * float(k // 4) * 1.2
            wide = SMALL * METRE * float(s.size[3 * k, i])
            high = SMALL * METRE * float(s.size[3 * k + 2, i])
            draw_item(s, i, k, x, y, wide, high, 0.0 if s.packed[k, i] else 1.0)
