"""The Territory Drill's units: workers that mine, protectors that patrol, parasites that hunt, and one tick of each.

Numbers are adapted from Nexus of Mind's game simulator where they have no other mark; "assumed" are those that it does
not give. Units: chunks (cells of the territory), ticks of one second, and energy.
"""
# ruff: noqa: F821  (random, sqrt, ... are words of the rules language)
# mypy: no-check-untyped-defs

from __future__ import annotations

from dshq_widget.drill.declaration import rule

SIZE = 20  # chunks along an edge
CHUNKS = SIZE * SIZE  # chunk = SIZE * y + x
EDGE = SIZE - 1.0  # the last chunk's middle
HIVE_X, HIVE_Y = 10.0, 9.0  # chunk 190
BASE_X, BASE_Y = 10.0, 10.0  # chunk 210

WINDOW = 15  # ticks between two decisions
TIME_LIMIT = 600  # ticks

WORKERS = 8
PROTECTORS = 3
SPOTS = 8  # mining spots
CLUSTERS = 3  # at most, and 2 at least
NEAR_CLUSTER = 7.8  # from the hive to a cluster's middle: its spots are then 5 away or more
FAR_CLUSTER = 11.0  # assumed; the territory's edge brings most clusters nearer
TURN = 6.2831853
JITTER = 0.5  # of a cluster's direction, radians: spots of two clusters are never in one chunk (assumed)

WORKER_SPEED = 1.0  # chunks a tick
FULL = 10  # units that a worker mines, one a tick, before it returns
ENERGY_PER_UNIT = 0.5
MINERALS_PER_UNIT = 0.3
ALARM = 3.0  # an energy parasite nearer than this makes a worker flee
FLEE_TICKS = 5
RESPAWN_TICKS = 60

PROTECTOR_SPEED = 1.5
DETECTION = 5.0
CONTACT = 1.2  # of a protector or a combat parasite with whom it fights (with workers: assumed)
WAYPOINTS = 4  # the base, and the clusters

PARASITE_SPEED = 1.0  # of both kinds (of combat parasites: assumed)
ENERGY_SIGHT = 6.0
DRAIN_REACH = 1.0
LIFE = 60  # ticks of an energy parasite; a combat parasite lives until it is killed (assumed)
COMBAT_SIGHT = 7.5
PROTECTOR_DIES, COMBAT_DIES, WORKER_DIES = 0.10, 0.15, 0.05  # chances in each tick of contact

QUEEN_START, QUEEN_MOST, QUEEN_INCOME = 50.0, 100.0, 1.0
PLAYER_START, UPKEEP = 100.0, 0.2
ENERGY_COST, COMBAT_COST = 15.0, 25.0

# No parasite is ever lost for want of a slot. One is spawned a decision, the last at tick 585, so the queen spends at
# most 50 + 585 energy in an episode. Of energy parasites at most 4 live at once (60 ticks, one in 15). The others are
# combat parasites: (635 - 4 * 15) // 25 = 23.
SLOTS = 27

OUT, MINE, BACK, FLEE = range(4)  # phases of a worker: to its spot, at it, to the base, from a parasite
NONE, ENERGY, COMBAT = range(3)  # kinds of parasites
FAR = 1000.0  # further than anything

STATE: dict[str, str | tuple[str, int]] = {
    "spot_x": ("f32", SPOTS),  # mining spots; they stand in the middle of a chunk
    "spot_y": ("f32", SPOTS),
    "cluster_x": ("f32", CLUSTERS),  # the third is the first again where there are two
    "cluster_y": ("f32", CLUSTERS),
    "clusters": "i32",
    "worker_x": ("f32", WORKERS),
    "worker_y": ("f32", WORKERS),
    "worker_chunk": ("i32", WORKERS),  # where it is; -1 for a dead one
    "worker_alive": ("bool", WORKERS),
    "worker_wait": ("i32", WORKERS),  # ticks until a dead one is back
    "worker_phase": ("i32", WORKERS),  # 0 on its way out, 1 mining, 2 on its way back, 3 fleeing
    "worker_spot": ("i32", WORKERS),  # the spot that it mines all episode
    "worker_load": ("i32", WORKERS),  # units that it carries
    "worker_flee": ("i32", WORKERS),  # ticks of flight left
    "flee_x": ("f32", WORKERS),  # and its direction, of length 1
    "flee_y": ("f32", WORKERS),
    "alarm": ("f32", WORKERS),  # chunks to the nearest energy parasite in this tick
    "alarm_x": ("f32", WORKERS),  # where that parasite is
    "alarm_y": ("f32", WORKERS),
    "protector_x": ("f32", PROTECTORS),
    "protector_y": ("f32", PROTECTORS),
    "protector_chunk": ("i32", PROTECTORS),
    "protector_alive": ("bool", PROTECTORS),
    "protector_wait": ("i32", PROTECTORS),
    "protector_way": ("i32", PROTECTORS),  # the waypoint that it walks to
    "parasite_x": ("f32", SLOTS),
    "parasite_y": ("f32", SLOTS),
    "parasite_chunk": ("i32", SLOTS),
    "parasite_kind": ("i32", SLOTS),  # 0 none, 1 energy, 2 combat
    "parasite_age": ("i32", SLOTS),  # ticks
    "queen_energy": "f32",
    "player_energy": "f32",
    "minerals": "f32",
    "mined": "i32",  # units in all: deposited, carried or lost with a worker
    "deposited": "i32",
    "lost": "i32",
    "drained": "i32",  # ticks at which an energy parasite drained
}
"""Fields of the units (f32 places in chunks, x and y of 0 .. 19)."""


@rule
def chunk_at(x, y):
    """The chunk that holds a place."""
    return int(floor(y + 0.5)) * SIZE + int(floor(x + 0.5))


@rule
def toward(x, y, to_x, to_y, speed):
    """One step: the new place, and whether it has arrived."""
    dx = to_x - x
    dy = to_y - y
    far = length(dx, dy)
    share = speed / max(far, speed)
    return x + dx * share, y + dy * share, far <= speed


# -- an episode's begin


@rule
def place_spots(s, i):
    """Clusters lie in directions that are far from one another; a cluster's spots are different cells around it."""
    n = 2 + random_int(s, i, 2)
    s.clusters[i] = n
    first = TURN * random(s, i)
    for c in loop(CLUSTERS):
        angle = first + TURN * float(c) / float(n) + JITTER * (2.0 * random(s, i) - 1.0)
        far = NEAR_CLUSTER + (FAR_CLUSTER - NEAR_CLUSTER) * random(s, i)
        x = clamp(floor(HIVE_X + far * cos(angle) + 0.5), 2.0, EDGE - 2.0)
        y = clamp(floor(HIVE_Y + far * sin(angle) + 0.5), 2.0, EDGE - 2.0)
        s.cluster_x[c, i] = x if c < n else s.cluster_x[0, i]
        s.cluster_y[c, i] = y if c < n else s.cluster_y[0, i]
    begin = random_int(s, i, 13)
    stride = 1 + random_int(s, i, 12)
    for k in loop(SPOTS):
        # the 13 cells within 2 of a cell, row by row; 13 is prime, so no cell comes twice
        cell = (begin + stride * k) % 13
        row = 0 if cell == 0 else (1 if cell < 4 else (2 if cell < 9 else (3 if cell < 12 else 4)))
        column = 2 if cell == 0 or cell == 12 else (cell if row == 1 else (cell - 4 if row == 2 else cell - 8))
        s.spot_x[k, i] = s.cluster_x[k % n, i] + float(column - 2)
        s.spot_y[k, i] = s.cluster_y[k % n, i] + float(row - 2)


@rule
def place_units(s, i):
    """Everybody begins at the base; workers know their spots, protectors their first waypoints."""
    for w in loop(WORKERS):
        s.worker_spot[w, i] = random_int(s, i, SPOTS)
        revive_worker(s, i, w)
    for p in loop(PROTECTORS):
        revive_protector(s, i, p)
    for slot in loop(SLOTS):
        s.parasite_chunk[slot, i] = -1
    s.queen_energy[i] = QUEEN_START
    s.player_energy[i] = PLAYER_START


@rule
def revive_worker(s, i, w):
    s.worker_alive[w, i] = True
    s.worker_x[w, i] = BASE_X
    s.worker_y[w, i] = BASE_Y
    s.worker_chunk[w, i] = chunk_at(BASE_X, BASE_Y)
    s.worker_phase[w, i] = OUT
    s.worker_flee[w, i] = 0


@rule
def revive_protector(s, i, p):
    s.protector_alive[p, i] = True
    s.protector_x[p, i] = BASE_X
    s.protector_y[p, i] = BASE_Y
    s.protector_chunk[p, i] = chunk_at(BASE_X, BASE_Y)
    s.protector_way[p, i] = 1 + p


# -- parasites


@rule
def nearest_worker(s, i, x, y):
    """The place of the nearest living worker, and how far it is."""
    best = FAR
    at_x = x
    at_y = y
    for w in loop(WORKERS):
        far = length(s.worker_x[w, i] - x, s.worker_y[w, i] - y)
        nearer = s.worker_alive[w, i] and far < best
        best = far if nearer else best
        at_x = s.worker_x[w, i] if nearer else at_x
        at_y = s.worker_y[w, i] if nearer else at_y
    return at_x, at_y, best


@rule
def nearest_protector(s, i, x, y):
    best = FAR
    at_x = x
    at_y = y
    for p in loop(PROTECTORS):
        far = length(s.protector_x[p, i] - x, s.protector_y[p, i] - y)
        nearer = s.protector_alive[p, i] and far < best
        best = far if nearer else best
        at_x = s.protector_x[p, i] if nearer else at_x
        at_y = s.protector_y[p, i] if nearer else at_y
    return at_x, at_y, best


@rule
def move_parasites(s, i):
    """Each hunts the nearest whom it sees; energy parasites drain, frighten workers, and grow old."""
    for slot in loop(SLOTS):
        if s.parasite_kind[slot, i] != NONE:
            drains = s.parasite_kind[slot, i] == ENERGY
            x = s.parasite_x[slot, i]
            y = s.parasite_y[slot, i]
            to_x, to_y, far = nearest_worker(s, i, x, y)
            guard_x, guard_y, guard_far = nearest_protector(s, i, x, y)
            guards = not drains and guard_far < far
            to_x = guard_x if guards else to_x
            to_y = guard_y if guards else to_y
            far = guard_far if guards else far
            sees = far < (ENERGY_SIGHT if drains else COMBAT_SIGHT)
            new_x, new_y, there = toward(x, y, to_x, to_y, PARASITE_SPEED)
            x = new_x if sees else x
            y = new_y if sees else y
            reaches = drains and length(to_x - x, to_y - y) <= DRAIN_REACH
            s.drained[i] += 1 if reaches else 0
            s.player_energy[i] -= 1.0 if reaches else 0.0
            for w in loop(WORKERS):
                close = length(s.worker_x[w, i] - x, s.worker_y[w, i] - y)
                nearer = drains and close < s.alarm[w, i]
                s.alarm[w, i] = close if nearer else s.alarm[w, i]
                s.alarm_x[w, i] = x if nearer else s.alarm_x[w, i]
                s.alarm_y[w, i] = y if nearer else s.alarm_y[w, i]
            s.parasite_x[slot, i] = x
            s.parasite_y[slot, i] = y
            s.parasite_chunk[slot, i] = chunk_at(x, y)
            s.parasite_age[slot, i] += 1
            if drains and s.parasite_age[slot, i] >= LIFE:
                remove_parasite(s, i, slot)


@rule
def remove_parasite(s, i, slot):
    s.parasite_kind[slot, i] = NONE
    s.parasite_chunk[slot, i] = -1


@rule
def fight(s, i):
    """Who touches whom: protectors end energy parasites at once; with combat parasites chance decides, tick by tick."""
    for slot in loop(SLOTS):
        if s.parasite_kind[slot, i] != NONE:
            fights = s.parasite_kind[slot, i] == COMBAT
            x = s.parasite_x[slot, i]
            y = s.parasite_y[slot, i]
            dies = False
            for p in loop(PROTECTORS):
                near = length(s.protector_x[p, i] - x, s.protector_y[p, i] - y) < CONTACT
                touches = s.protector_alive[p, i] and near
                dies = dies or (touches and not fights)
                if touches and fights:
                    falls = random(s, i) < PROTECTOR_DIES
                    dies = dies or random(s, i) < COMBAT_DIES
                    if falls:
                        s.protector_alive[p, i] = False
                        s.protector_chunk[p, i] = -1
                        s.protector_wait[p, i] = RESPAWN_TICKS
                        s.killed[i] += 1
            if fights:
                for w in loop(WORKERS):
                    near = length(s.worker_x[w, i] - x, s.worker_y[w, i] - y) < CONTACT
                    falls = False
                    if s.worker_alive[w, i] and near:
                        falls = random(s, i) < WORKER_DIES
                    if falls:
                        s.worker_alive[w, i] = False
                        s.worker_chunk[w, i] = -1
                        s.worker_wait[w, i] = RESPAWN_TICKS
                        s.lost[i] += s.worker_load[w, i]
                        s.worker_load[w, i] = 0
            if dies:
                remove_parasite(s, i, slot)


# -- protectors


@rule
def move_protectors(s, i):
    """The nearest parasite that it detects is chased; else it walks from waypoint to waypoint."""
    for p in loop(PROTECTORS):
        x = s.protector_x[p, i]
        y = s.protector_y[p, i]
        best = DETECTION
        to_x = x
        to_y = y
        for slot in loop(SLOTS):
            if s.parasite_kind[slot, i] != NONE:
                far = length(s.parasite_x[slot, i] - x, s.parasite_y[slot, i] - y)
                nearer = far < best
                best = far if nearer else best
                to_x = s.parasite_x[slot, i] if nearer else to_x
                to_y = s.parasite_y[slot, i] if nearer else to_y
        chases = best < DETECTION
        way = s.protector_way[p, i]
        way_x = BASE_X if way == 0 else s.cluster_x[way - 1, i]
        way_y = BASE_Y if way == 0 else s.cluster_y[way - 1, i]
        new_x, new_y, there = toward(x, y, to_x if chases else way_x, to_y if chases else way_y, PROTECTOR_SPEED)
        alive = s.protector_alive[p, i]
        s.protector_x[p, i] = new_x if alive else x
        s.protector_y[p, i] = new_y if alive else y
        s.protector_chunk[p, i] = chunk_at(new_x, new_y) if alive else -1
        s.protector_way[p, i] = (way + 1) % WAYPOINTS if alive and there and not chases else way
        waits = s.protector_wait[p, i] - 1
        if not alive:
            s.protector_wait[p, i] = waits
            if waits == 0:
                revive_protector(s, i, p)


# -- workers


@rule
def move_workers(s, i):
    """Out, mine, back and again; from an energy parasite that comes near they flee first."""
    for w in loop(WORKERS):
        x = s.worker_x[w, i]
        y = s.worker_y[w, i]
        alive = s.worker_alive[w, i]
        load = s.worker_load[w, i]
        goes = BACK if load >= FULL else OUT
        phase = s.worker_phase[w, i]
        phase = goes if phase == FLEE and s.worker_flee[w, i] == 0 else phase
        if alive and s.alarm[w, i] < ALARM and phase != FLEE:
            away_x = x - s.alarm_x[w, i]
            away_y = y - s.alarm_y[w, i]
            far = length(away_x, away_y)
            s.flee_x[w, i] = away_x / far if far > 0.001 else 1.0
            s.flee_y[w, i] = away_y / far if far > 0.001 else 0.0
            s.worker_flee[w, i] = FLEE_TICKS
            phase = FLEE
        flees = phase == FLEE
        mines = phase == MINE
        back = phase == BACK
        spot = s.worker_spot[w, i]
        to_x = x + s.flee_x[w, i] if flees else (BASE_X if back else s.spot_x[spot, i])
        to_y = y + s.flee_y[w, i] if flees else (BASE_Y if back else s.spot_y[spot, i])
        new_x, new_y, there = toward(x, y, clamp(to_x, 0.0, EDGE), clamp(to_y, 0.0, EDGE), WORKER_SPEED)
        stays = mines or not alive
        s.worker_x[w, i] = x if stays else new_x
        s.worker_y[w, i] = y if stays else new_y
        s.worker_chunk[w, i] = chunk_at(s.worker_x[w, i], s.worker_y[w, i]) if alive else -1
        digs = 1 if alive and mines else 0
        s.mined[i] += digs
        load += digs
        brings = load if alive and back and there else 0
        s.deposited[i] += brings
        s.player_energy[i] += ENERGY_PER_UNIT * float(brings)
        s.minerals[i] += MINERALS_PER_UNIT * float(brings)
        load -= brings
        s.worker_load[w, i] = load
        s.worker_flee[w, i] -= 1 if flees else 0
        phase = (
            OUT if back and there else (BACK if mines and load >= FULL else (MINE if phase == OUT and there else phase))
        )
        s.worker_phase[w, i] = phase if alive else OUT
        waits = s.worker_wait[w, i] - 1
        if not alive:
            s.worker_wait[w, i] = waits
            if waits == 0:
                revive_worker(s, i, w)


@rule
def tick_units(s, i):
    """One second: energies, then parasites, protectors and workers, then fights."""
    s.queen_energy[i] = min(s.queen_energy[i] + QUEEN_INCOME, QUEEN_MOST)
    s.player_energy[i] -= UPKEEP
    for w in loop(WORKERS):
        s.alarm[w, i] = FAR
    move_parasites(s, i)
    move_protectors(s, i)
    move_workers(s, i)
    fight(s, i)
    s.player_energy[i] = max(s.player_energy[i], 0.0)
