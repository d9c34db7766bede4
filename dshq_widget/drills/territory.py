"""Territory: a queen spawns parasites where they hurt a colony of miners most.

The rules adapt those of Nexus of Mind's game simulator; territory_units.py has the units and their numbers. The queen
decides every 15 seconds: she waits, or spends energy on one parasite in any of 400 chunks. She sees and is paid what
changed in the window that has just ended. A worker counts as *at work* while it lives and does not flee.
"""
# ruff: noqa: F821  (random_int, clamp, box, ... are words of the rules language)
# mypy: no-check-untyped-defs

from __future__ import annotations

from dshq_widget.drill.declaration import Cells, Choice, Drill, Observation, rule
from dshq_widget.drills.territory_scene import (
    PALETTE,
    SHAPES,
    TAGS,
    WORLD,
    draw_energy,
    draw_ground,
    draw_homes,
    draw_parasites,
    draw_protectors,
    draw_workers,
)
from dshq_widget.drills.territory_units import (
    CHUNKS,
    COMBAT,
    COMBAT_COST,
    ENERGY,
    ENERGY_COST,
    FAR,
    FLEE,
    HIVE_X,
    HIVE_Y,
    NONE,
    PROTECTORS,
    SIZE,
    SLOTS,
    SPOTS,
    STATE,
    TIME_LIMIT,
    WINDOW,
    WORKERS,
    chunk_at,
    nearest_protector,
    nearest_worker,
    place_spots,
    place_units,
    tick_units,
)

BUSIEST = 5  # chunks that the queen is shown
OF_CHUNK = {
    "chunk": "number of one of the busiest chunks, as a share of the last one's",
    "workers": "there, as a share of all that a colony has",
    "protectors": "the same of these",
    "energy parasites": "how their number there changed in the window; 0.5: not at all",
    "combat parasites": "the same of these",
}
SEEN = BUSIEST * len(OF_CHUNK)
PER_CHUNK = 1 / (CHUNKS - 1)
DIAGONAL = 26.870058  # chunks from corner to corner
ENERGY_SPAWNS, COMBAT_SPAWNS = 6, 4  # that a full queen can pay for

# The reward's parts: adapted from Nexus of Mind's reward calculator.
OF_MINING, OF_PROTECTORS, OF_ENERGY = 0.4, 0.3, 0.3
PER_STOPPED, PER_KILLED, FOR_NOTHING, STILL = 0.2, 0.15, -0.1, 0.05
TO_WORKER, TO_HIVE = -0.4, -0.3

RAID_REACH = 6.0  # chunks in which a raider counts workers
GUARD_REACH = 5.0  # and no protector may be


@rule
def rate(start, end):
    """The change as a share of the larger of both; 0 if both are 0."""
    most = max(start, end)
    return (end - start) / most if most > 0.0 else 0.0


@rule
def at_work(s, i, w):
    return s.worker_alive[w, i] and s.worker_phase[w, i] != FLEE


@rule
def workers_at_work(s, i):
    count = 0
    for w in loop(WORKERS):
        count += 1 if at_work(s, i, w) else 0
    return count


@rule
def workers_of_spot(s, i, spot):
    """Those at work whose spot it is."""
    count = 0
    for w in loop(WORKERS):
        count += 1 if at_work(s, i, w) and s.worker_spot[w, i] == spot else 0
    return count


@rule
def protectors_alive(s, i):
    count = 0
    for p in loop(PROTECTORS):
        count += 1 if s.protector_alive[p, i] else 0
    return count


@rule
def open_window(s, i):
    """Notes how things stand as a window begins."""
    s.start_working[i] = workers_at_work(s, i)
    s.start_protectors[i] = protectors_alive(s, i)
    s.start_energy[i] = s.player_energy[i]
    for spot in loop(SPOTS):
        s.start_spot[spot, i] = workers_of_spot(s, i, spot)
    for slot in loop(SLOTS):
        s.start_parasite_chunk[slot, i] = s.parasite_chunk[slot, i]
        s.start_parasite_kind[slot, i] = s.parasite_kind[slot, i]
    s.killed[i] = 0
    s.location_penalty[i] = 0.0
    s.spawn_slot[i] = -1
    s.spawn_kind[i] = NONE
    s.spawn_survived[i] = False


@rule
def spawn(s, i, kind, chunk):
    """Puts a new parasite into a chunk, if the queen can pay for it."""
    cost = COMBAT_COST if kind == COMBAT else ENERGY_COST
    free = -1
    for k in loop(SLOTS):
        free = k if free < 0 and s.parasite_kind[k, i] == NONE else free
    if kind != NONE and s.queen_energy[i] >= cost and free >= 0:
        x = float(chunk % SIZE)
        y = float(chunk // SIZE)
        s.queen_energy[i] -= cost
        s.parasite_kind[free, i] = kind
        s.parasite_x[free, i] = x
        s.parasite_y[free, i] = y
        s.parasite_chunk[free, i] = chunk
        s.parasite_age[free, i] = 0
        s.spawned_at[chunk, i] = s.ticks[i]
        s.spawn_slot[i] = free
        s.spawn_kind[i] = kind
        s.spawn_survived[i] = True
        at_x, at_y, far = nearest_worker(s, i, x, y)
        hive = length(x - HIVE_X, y - HIVE_Y)
        s.location_penalty[i] = (TO_WORKER * far if far < FAR else TO_HIVE * hive) * (1.0 / DIAGONAL)


@rule
def crowd(s, i, chunk):
    """Workers in a chunk."""
    count = 0
    for w in loop(WORKERS):
        count += 1 if s.worker_chunk[w, i] == chunk else 0
    return count


@rule
def guards(s, i, chunk):
    """Protectors in a chunk."""
    count = 0
    for p in loop(PROTECTORS):
        count += 1 if s.protector_chunk[p, i] == chunk else 0
    return count


@rule
def next_busiest(s, i, last):
    """The chunk after `last` from many workers to few, in a number of its own: workers times 512, plus the chunk; -1
    where there is no more.
    """
    found = -1
    for w in loop(WORKERS):
        chunk = s.worker_chunk[w, i]
        here = crowd(s, i, chunk) * 512 + chunk
        found = here if chunk >= 0 and here < last and here > found else found
    return found


@rule
def parasite_rates(s, i, chunk):
    """How the energy parasites and the combat parasites of a chunk changed in number, from 0 to 1; 0.5: not at all."""
    energy_start, energy_end, combat_start, combat_end = 0, 0, 0, 0
    for slot in loop(SLOTS):
        then = s.start_parasite_chunk[slot, i] == chunk
        now = s.parasite_chunk[slot, i] == chunk
        energy_start += 1 if then and s.start_parasite_kind[slot, i] == ENERGY else 0
        energy_end += 1 if now and s.parasite_kind[slot, i] == ENERGY else 0
        combat_start += 1 if then and s.start_parasite_kind[slot, i] == COMBAT else 0
        combat_end += 1 if now and s.parasite_kind[slot, i] == COMBAT else 0
    energy = share_of_rate(rate(float(energy_start), float(energy_end)))
    return energy, share_of_rate(rate(float(combat_start), float(combat_end)))


@rule
def share_of_rate(value):
    """A number from -1 to 1, as one from 0 to 1."""
    return 0.5 * (value + 1.0)


@rule
def busiest_worker(s, i, guarded_within):
    """The chunk of the worker with the most others around it and no protector so near; -1 if there is none."""
    best = -1
    most = 0
    for w in loop(WORKERS):
        x = s.worker_x[w, i]
        y = s.worker_y[w, i]
        around = 0
        for v in loop(WORKERS):
            near = length(s.worker_x[v, i] - x, s.worker_y[v, i] - y) < RAID_REACH
            around += 1 if near and s.worker_alive[v, i] else 0
        guard_x, guard_y, guard_far = nearest_protector(s, i, x, y)
        better = s.worker_alive[w, i] and guard_far >= guarded_within and around > most
        most = around if better else most
        best = chunk_at(x, y) if better else best
    return best


class Territory(Drill):
    """Spawn parasites where they stop the most mining and live the longest."""

    name = "territory"
    title = "Territory Drill"
    sides = 1
    tick_rate = 1
    action_repeat = WINDOW
    time_limit = TIME_LIMIT
    world = WORLD
    palette = PALETTE
    legend = {
        "player0": "queen and her hive",
        "player1": "colony",
        "clay": "ore",
        "accent": "worker",
        "goal1": "guarded by a protector",
        "target": "parasite",
    }
    hint = (
        "Each decision proposes a chunk and a kind of parasite: a ring marks it, dashed where the gate blocked it. "
        "The tab Gate says why."
    )
    tags = TAGS
    scene_max = SHAPES
    training = {  # measured: docs/LOG.md
        "num_envs": 128,
        "rollout_length": 32,
        "epochs": 3,
        "minibatch_size": 1024,
        "learning_rate": 1e-3,
        "gamma": 0.95,
        "entropy_coef": 0.003,
        "min_entropy": 0.0,
    }

    state = {
        **STATE,
        "spawned_at": ("i32", CHUNKS),  # the tick of the newest spawn in each chunk; 0 where there was none
        "spawn_slot": "i32",  # the slot of the parasite spawned at the newest decision; -1 if none was
        "spawn_kind": "i32",
        "spawn_survived": "bool",  # whether it lives
        "location_penalty": "f32",  # of that spawn
        "killed": "i32",  # protectors killed in this window
        "start_working": "i32",  # as the window began: workers at work, in all and of each spot
        "start_spot": ("i32", SPOTS),
        "start_protectors": "i32",
        "start_energy": "f32",
        "start_parasite_chunk": ("i32", SLOTS),
        "start_parasite_kind": ("i32", SLOTS),
    }
    actions = (
        Choice("type", ("wait", "energy", "combat")),
        Choice("chunk", tuple(f"chunk {k}" for k in range(CHUNKS))),
    )
    keys = {
        "Space": ("type", "wait"),
        "KeyW": ("type", "wait"),
        "KeyE": ("type", "energy"),
        "KeyC": ("type", "combat"),
    }
    cells = Cells(columns=SIZE, rows=SIZE, x0=-0.5, y0=-0.5, size=1.0, choice="chunk")
    show_speed = 8.0
    observations = (
        *(Observation(f"place {k + 1} {what}", help=of) for k in range(BUSIEST) for what, of in OF_CHUNK.items()),
        Observation("energy spawns", scale=ENERGY_SPAWNS, help="energy parasites that the queen can pay for"),
        Observation("combat spawns", scale=COMBAT_SPAWNS, help="the same of combat parasites"),
        Observation("player energy rate", help="how the colony's energy changed in the window; 0.5: not at all"),
    )
    observation_range = (0.0, 1.0)
    algorithm = "gate"
    rewards = {
        "result": 1.0,
        "mining": 0.0,
        "protectors": 0.0,
        "energy": 0.0,
        "stopped": 0.0,
        "killed": 0.0,
        "stagnant": 0.0,
        "location": 0.0,
    }
    baselines = ("raider", "hunter")

    @rule
    def reset(s, i):
        """Training's own starts have a queen with any energy."""
        place_spots(s, i)
        place_units(s, i)
        if s.practice[i] == 1:
            s.queen_energy[i] = floor(100.0 * random(s, i))
        open_window(s, i)

    @rule
    def decide(s, i):
        open_window(s, i)
        spawn(s, i, s.action[0, i] // CHUNKS, s.action[0, i] % CHUNKS)

    @rule
    def tick(s, i):
        tick_units(s, i)
        slot = s.spawn_slot[i]
        s.spawn_survived[i] = slot >= 0 and s.parasite_kind[max(slot, 0), i] != NONE

    @rule
    def mask(s, i, side, m):
        """To wait is one action; a kind of parasite is allowed if the queen can pay for it."""
        energy = s.queen_energy[i] >= ENERGY_COST
        combat = s.queen_energy[i] >= COMBAT_COST
        for chunk in loop(CHUNKS):
            m[chunk, i] = chunk == 0
            m[CHUNKS + chunk, i] = energy
            m[2 * CHUNKS + chunk, i] = combat

    @rule
    def observe(s, i, side, o):
        """The five chunks with the most workers, in an order that the state draws, so that no place means a rank."""
        bits = hash32(hash32(s.rng_key[i], s.rng_count[i]), u32(s.ticks[i]))
        first = i32(bits >> 8) % BUSIEST
        stride = 1 + i32(bits >> 20) % (BUSIEST - 1)
        last = 1 << 20
        for k in loop(BUSIEST):
            last = next_busiest(s, i, last)
            there = 1.0 if last >= 0 else 0.0
            chunk = last % 512 if last >= 0 else -2
            at = 5 * ((first + stride * k) % BUSIEST)
            energy, combat = parasite_rates(s, i, chunk)
            o[at, i] = there * float(chunk) * PER_CHUNK
            o[at + 1, i] = there * float(last // 512) * (1.0 / WORKERS)
            o[at + 2, i] = there * float(guards(s, i, chunk)) * (1.0 / PROTECTORS)
            o[at + 3, i] = there * energy
            o[at + 4, i] = there * combat
            last = last if last >= 0 else 0
        o[SEEN, i] = floor(s.queen_energy[i] / ENERGY_COST) * (1.0 / ENERGY_SPAWNS)
        o[SEEN + 1, i] = floor(s.queen_energy[i] / COMBAT_COST) * (1.0 / COMBAT_SPAWNS)
        o[SEEN + 2, i] = share_of_rate(rate(s.start_energy[i], s.player_energy[i]))

    # -- rewards of the window that has ended

    @rule
    def mining(s, i, side):
        """Fewer workers at work."""
        return -OF_MINING * rate(float(s.start_working[i]), float(workers_at_work(s, i)))

    @rule
    def protectors(s, i, side):
        """Fewer protectors."""
        return -OF_PROTECTORS * rate(float(s.start_protectors[i]), float(protectors_alive(s, i)))

    @rule
    def energy(s, i, side):
        """Less player energy."""
        return -OF_ENERGY * rate(s.start_energy[i], s.player_energy[i])

    @rule
    def stopped(s, i, side):
        """Spots where nobody is at work any more."""
        count = 0
        for spot in loop(SPOTS):
            count += 1 if s.start_spot[spot, i] > 0 and workers_of_spot(s, i, spot) == 0 else 0
        return PER_STOPPED * float(count)

    @rule
    def killed(s, i, side):
        """Protectors killed."""
        return PER_KILLED * float(s.killed[i])

    @rule
    def stagnant(s, i, side):
        """Nothing changed."""
        mining = rate(float(s.start_working[i]), float(workers_at_work(s, i)))
        guarded = rate(float(s.start_protectors[i]), float(protectors_alive(s, i)))
        stored = rate(s.start_energy[i], s.player_energy[i])
        return FOR_NOTHING if abs(mining) < STILL and abs(guarded) < STILL and abs(stored) < STILL else 0.0

    @rule
    def location(s, i, side):
        """A spawn far from every worker."""
        return s.location_penalty[i]

    @rule
    def result(s, i, side):
        """What the window brought: the sum of its parts, at most 1 either way."""
        change = mining(s, i, side) + protectors(s, i, side) + energy(s, i, side)
        extra = stopped(s, i, side) + killed(s, i, side) + stagnant(s, i, side) + location(s, i, side)
        return clamp(change + extra, -1.0, 1.0)

    # -- who plays

    @rule
    def raider(s, i, side):
        """An energy parasite on the worker with the most others around it and no protector near, else waits.

        It sees the whole territory, as a person at the page does; the observation has five chunks of it.
        """
        chunk = busiest_worker(s, i, GUARD_REACH)
        return CHUNKS + chunk if s.queen_energy[i] >= ENERGY_COST and chunk >= 0 else 0

    @rule
    def hunter(s, i, side):
        """A combat parasite on the worker with the most others around it, as often as the energy lasts.

        It sees the whole territory, too.
        """
        chunk = busiest_worker(s, i, 0.0)
        return 2 * CHUNKS + chunk if s.queen_energy[i] >= COMBAT_COST and chunk >= 0 else 0

    @rule
    def scene(s, i):
        draw_ground(s, i)
        draw_protectors(s, i)
        draw_homes(s, i)
        draw_workers(s, i)
        draw_parasites(s, i)
        draw_energy(s, i)
