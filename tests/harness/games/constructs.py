"""Drills that use every construct of the rules language, to hold the back ends to one meaning."""

from dshq_widget.drill.declaration import Choice, Drill, Observation, rule

# ruff: noqa: F821  (random, sin, circle ... are words of the rules language)

GAIN = 0.5
TABLE = (3, 1, 4)
OPERANDS = {"f32": ("fa", "fb"), "i32": ("ia", "ib"), "u32": ("ua", "ub")}
"""Fields of `Words` that tests set; `decide` writes the results of every operation on them."""


@rule
def swap(a, b):
    return b, a


@rule
def told(x):
    """x, and a number where it is none: JavaScript knows one NaN only."""
    return x if x == x else 12345.0


@rule
def corners(s, i):
    """Every operation on numbers that tests choose, such as no number, infinity and the ends of i32."""
    a = s.fa[i]
    b = s.fb[i]
    s.fr[0, i] = told(a + b)
    s.fr[1, i] = told(a - b)
    s.fr[2, i] = told(a * b)
    s.fr[3, i] = told(a / b)
    s.fr[4, i] = told(-a)
    s.fr[5, i] = told(abs(a))
    s.fr[6, i] = told(sqrt(a))
    s.fr[7, i] = told(floor(a))
    s.fr[8, i] = told(min(a, b))
    s.fr[9, i] = told(max(a, b, 0.0))
    s.fr[10, i] = float(s.ia[i])
    s.fr[11, i] = float(s.ua[i])
    s.fr[12, i] = told(a * b + a / (b - 0.1))
    n = s.ia[i]
    m = s.ib[i]
    s.ir[0, i] = n + m
    s.ir[1, i] = n - m
    s.ir[2, i] = n * m
    s.ir[3, i] = n // m
    s.ir[4, i] = n % m
    s.ir[5, i] = n << m
    s.ir[6, i] = n >> m
    s.ir[7, i] = (n & m) ^ (n | ~m)
    s.ir[8, i] = abs(n) - -m
    s.ir[9, i] = int(a)
    s.ir[10, i] = i32(s.ua[i])
    s.ir[11, i] = int(a < b) + 2 * int(a <= b) + 4 * int(a == b) + 8 * int(a != b) + 16 * int(n < m) + 32 * int(n == m)
    s.ir[12, i] = n // 7 + m % -3
    u = s.ua[i]
    v = s.ub[i]
    s.ur[0, i] = u + v
    s.ur[1, i] = u - v
    s.ur[2, i] = u * v
    s.ur[3, i] = u // v
    s.ur[4, i] = u % v
    s.ur[5, i] = (u << v) ^ (u >> v)
    s.ur[6, i] = ~u & -v
    s.ur[7, i] = u32(n) ^ u32(a) ^ hash32(u, v)
    s.ur[8, i] = u32(u > v) + u32(u >= v) * 2


class Words(Drill):
    """Uses every construct once, so that both back ends are held to the same bits on all of them."""

    name = "words"
    sides = 2
    time_limit = 400
    state = {
        "x": "f32",
        "n": "i32",
        "u": "u32",
        "flag": "bool",
        "row": ("f32", 5),
        "grid": ("i32", 40),
        "v": ("f32", 2),
        **{name: kind for kind, names in OPERANDS.items() for name in names},
        "fr": ("f32", 13),
        "ir": ("i32", 13),
        "ur": ("u32", 9),
    }
    actions = (Choice("push", ("no", "left", "right")), Choice("spin", ("no", "yes")))
    observations = (Observation("x"), Observation("v"), Observation("row"))
    rewards = {"gain": 1.0}
    potentials = {"height": 2.0}
    baselines = ("pusher",)
    LIMIT = 3.0

    @rule
    def reset(s, i):
        s.u[i] = s.rng_key[i] * 3 + 7
        if s.practice[i] == 1:
            s.x[i] = random(s, i) - 0.5
        else:
            s.x[i] = 0.25
        s.fa[i] = 1.5
        s.fb[i] = 0.75
        s.ia[i] = 7
        s.ib[i] = -3
        s.ua[i] = 9
        s.ub[i] = 4
        for k in range(40):
            s.grid[k, i] = random_int(s, i, 9) - 4

    @rule
    def decide(s, i):
        corners(s, i)
        for k in range(2):
            push = s.action[k, i] // 2
            spin = s.action[k, i] % 2
            if push == 1:
                s.v[k, i] -= 0.1 * GAIN
            elif push == 2:
                s.v[k, i] += 0.1 * GAIN
            else:
                s.v[k, i] *= 0.9
            s.row[k, i] = sin(s.x[i]) if spin == 1 else cos(s.x[i])

    @rule
    def tick(s, i):
        x = s.x[i] + (s.v[0, i] - s.v[1, i]) / 12.0
        a, b = swap(x, -x)
        x, y = b, a
        s.u[i] = (s.u[i] << 3) ^ (s.u[i] >> 5) ^ (s.u[i] * 2654435761) | 1
        s.n[i] = s.n[i] * 1103515245 - (s.n[i] >> 3) + ~s.n[i] // 7 - s.n[i] % -5 + TABLE[2]
        s.flag[i] = not (x > y and s.flag[i]) or abs(x) > LIMIT
        total = 0
        for k in range(40):
            s.grid[k, i] = s.grid[k, i] + s.grid[s.ticks[i] % 40, i]
            if s.grid[k, i] > 9:
                s.grid[k, i] = -s.grid[k, i] // 2
                total += 1
        s.row[2, i] = (
            float(total) + float(s.u[i]) * 1e-9 + sqrt(abs(x)) + floor(x * 3.7) + exp(-abs(x)) + atan2(y, x + 0.5)
        )
        s.row[3, i] = float(int(x * 1e6)) + min(x, y, 0.25) - max(float(s.n[i]), -1e3)
        for k in loop(5):
            for n in loop(1, 4):
                if k > n:
                    s.grid[8 * k + n, i] += n - k
        s.row[4, i] = 1.0 / x if x != 0.0 else -1.0
        s.x[i] = clamp(x, -LIMIT, LIMIT)

    @rule
    def observe(s, i, side, o):
        o[0, i] = s.x[i] if side == 0 else -s.x[i]
        o[1, i] = s.v[1 - side, i]
        o[2, i] = s.row[s.n[i], i]  # clamped into the array

    @rule
    def terminated(s, i):
        return s.x[i] >= LIMIT

    @rule
    def winner(s, i):
        return 1 if s.x[i] > 0.0 else -1

    @rule
    def gain(s, i, side):
        return s.row[3, i] * 1e-6

    @rule
    def height(s, i, side):
        return -length(s.x[i], s.v[side, i])

    @rule
    def pusher(s, i, side):
        return 2 if s.x[i] < 0.0 else 5

    @rule
    def scene(s, i):
        circle(s.x[i], 0.0, 0.1, 1)
        for k in range(2):
            if s.flag[i]:
                box(s.v[k, i], 0.0, 0.1, 0.1, 1.0, 0.0, 0.02, k, alpha=0.5)
        line(0, 0, s.x[i], 1, 0.02, 2)


class Permits(Drill):
    """A mask of every kind: by constant and computed index, left out, and none at all every fourth tick."""

    name = "permits"
    sides = 2
    tick_rate = 30
    action_repeat = 1
    time_limit = 90
    state = {"shelf": ("i32", 40), "place": "i32"}
    actions = (Choice("put", tuple(f"on {k}" for k in range(20))), Choice("side", ("left", "right")))
    observations = (Observation("place"),)
    baselines = ("first",)

    @rule
    def reset(s, i):
        s.place[i] = random_int(s, i, 60) - 10

    @rule
    def tick(s, i):
        for side in range(2):
            s.shelf[s.action[side, i], i] += 1 + side
        s.place[i] = s.shelf[s.place[i] * 3, i] * 7 + random_int(s, i, 50) - 10

    @rule
    def observe(s, i, side, o):
        o[0, i] = float(s.place[i]) * 0.01

    @rule
    def mask(s, i, side, m):
        if s.ticks[i] % 4 != 0:
            for k in range(30):
                m[k, i] = s.shelf[k, i] % 3 == side
            m[s.place[i], i] = True
            m[39, i] = side == 1

    @rule
    def first(s, i, side):
        return max(0, min(s.place[i], 39))

    @rule
    def scene(s, i):
        circle(0.0, 0.0, 0.1, 0)
