"""An hour of hostile pages: twenty websockets that send and take what no page does, beside training that is watched.

`python -m benchmarks.hostile_pages --minutes 60` writes benchmarks/results/hostile-pages-*.json: memory of `dshq play`
and its processes in MB, once every five seconds (the first and the last quarter of the time, by their medians),
pictures a second that a good page gets of a Gymnasium environment that trains meanwhile, and what became of the others'
sockets. The hostile pages have a process of their own, so that the good one waits for nothing but the server.

Each hostile page does one thing, over and over: it sends bytes that are no frame, numbers of any size in every field,
parts of files that never end, the largest frame again and again, requests for everything that costs something; it never
reads what it gets; or it comes and goes.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import psutil
from tornado.httpclient import HTTPClientError
from tornado.websocket import WebSocketClientConnection, WebSocketClosedError, websocket_connect

from benchmarks.machine import write
from benchmarks.running import parser_of
from dshq_widget.contract import protocol
from dshq_widget.widget.play_comm import packed, unpacked
from dshq_widget.widget.play_server import TOO_SLOW
from tests.harness.processes.faults import Family

LOOK_SECONDS = 5.0
OBEYED = ("STOP_TRAINING", "RESET_TRAINER", "PAUSE_TRAINING", "STEP")
"""What any page of a widget may do to the others' show and training, and so nobody does here."""
ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 10**400, -(10**400), 1e308, 2**63),
    *("x" * 5000, "__proto__", [], {}, [[]], {"x": [10**300]}),
)
MESSAGES = protocol.MESSAGES["page_to_kernel"]
COSTLY = ("HELLO", "SAVE_POLICY", "SAVE_PAGE", "FETCH_TRAINER")
Ends = Counter[str]


def said(content: Any, *buffers: bytes) -> bytes:
    return packed({"method": "custom", "content": content}, buffers)


def odd(dice: random.Random) -> bytes:
    """A message with odd values in its fields, or a change of traits with some."""
    if dice.random() < 0.3:
        state = {name: dice.choice(ODD[4:]) for name in (*protocol.SHOW_DEFAULTS, "seq") if name != "playing"}
        return packed({"method": "update", "state": {"show": state, "snapshot": dice.choice(ODD)}, "buffer_paths": []})
    kind = dice.choice([one for one in MESSAGES if one not in OBEYED])
    return said({"type": kind, **{name: dice.choice(ODD) for name in MESSAGES[kind]}})


def junk(dice: random.Random) -> bytes:
    return dice.randbytes(dice.choice((0, 1, 40, 5000)))


def part(dice: random.Random) -> bytes:
    content = {"type": "LOAD_POLICY", "name": "x.dshq", "part": dice.choice((0, 0, 1, 7)), "parts": dice.choice((2, 9))}
    return said(content, bytes(dice.choice((1, 1 << 20, 8 << 20))))


def largest(_: random.Random) -> bytes:
    return said({"type": "LOAD_POLICY", "name": "y.dshq", "part": 0, "parts": 4}, bytes((16 << 20) - 4096))


def costly(dice: random.Random) -> bytes:
    return said({"type": dice.choice(COSTLY), "count": 10**6, "whole": True, "seq": 0})


WAYS: tuple[tuple[Callable[[random.Random], bytes], float, bool], ...] = (
    (odd, 0.005, True),
    (junk, 0.05, True),
    (part, 0.05, True),
    (largest, 0.2, True),
    (costly, 0.02, True),
    (odd, 0.01, False),
)
"""What a hostile page sends, the seconds between two of them, and whether it reads what it gets."""


async def hostile(url: str, k: int, until: float, ends: Ends) -> None:
    make, pause, reads = WAYS[k % len(WAYS)]
    dice = random.Random(k)
    while time.monotonic() < until:
        try:
            page = await websocket_connect(url)
            stays = time.monotonic() + dice.uniform(1.0, 60.0)
            while time.monotonic() < min(until, stays):
                await page.write_message(make(dice), binary=True)
                await asyncio.sleep(pause)
                if reads and await drained(page):
                    break
            ends[f"closed with {page.close_code}" if page.close_code else "left"] += 1
            page.close()
        except WebSocketClosedError:
            ends["closed while it sent"] += 1
        except (TimeoutError, OSError, HTTPClientError) as error:  # the latter where there are as many as may be
            ends[f"{error}" if isinstance(error, HTTPClientError) else type(error).__name__] += 1
            await asyncio.sleep(1.0)


async def hostile_ones(url: str, seconds: float, pages: int) -> Ends:
    """What became of the sockets of so many."""
    until, ends = time.monotonic() + seconds, Counter[str]()
    await asyncio.gather(*(hostile(url, k, until, ends) for k in range(pages)))
    return ends


async def drained(page: WebSocketClientConnection) -> bool:
    """Take what is there; whether the connection has ended."""
    waiting: Awaitable[Any] = page.read_message()
    try:
        return await asyncio.wait_for(waiting, 0.001) is None
    except TimeoutError:
        return False


async def good(url: str, until: float, frames: list[float], ends: Ends) -> None:
    """A page as ours: answers what it gets, trains, counts pictures, and comes again where it was too slow."""
    while time.monotonic() < until:
        try:
            page = await websocket_connect(url)
        except HTTPClientError as error:
            ends[f"the good page: {error}"] += 1
            await asyncio.sleep(1.0)
            continue
        with contextlib.suppress(WebSocketClosedError):
            await watch(page, until, frames)
        if time.monotonic() < until:
            assert page.close_code == TOO_SLOW, f"the good page was closed with {page.close_code}"
            ends["the good page came again"] += 1
        page.close()


async def watch(page: WebSocketClientConnection, until: float, frames: list[float]) -> None:
    for content in ({"type": "PAGE_STATE", "version": 0, "visible": True, "fps": 30.0}, {"type": "START_TRAINING"}):
        await page.write_message(said(content), binary=True)
    hello = False
    while time.monotonic() < until:
        try:
            found = await asyncio.wait_for(page.read_message(), 10.0)
        except TimeoutError:
            continue
        if found is None:
            return
        assert isinstance(found, bytes)
        message, _ = unpacked(found)
        data = message["data"]
        if "seq" in data.get("state", {}):
            kind = "ACK" if hello else "HELLO"
            hello = True
            await page.write_message(said({"type": kind, "seq": data["state"]["seq"]}), binary=True)
        if data.get("method") == "custom" and data["content"].get("type") == "FRAME":
            frames.append(time.monotonic())
            await page.write_message(said({"type": "FRAME_SHOWN"}), binary=True)


async def memory(family: Family, served: int, until: float, looks: list[float], own: list[float]) -> None:
    """Of all of the family, and of the process that serves the pages."""
    while time.monotonic() < until:
        sizes = {}
        for pid in await asyncio.to_thread(family.members):
            try:
                sizes[pid] = psutil.Process(pid).memory_info().rss / 1e6
            except psutil.Error:
                continue
        looks.append(round(sum(sizes.values()), 1))
        own.append(round(sizes.get(served, 0.0), 1))
        await asyncio.sleep(LOOK_SECONDS)


async def measure(url: str, family: Family, served: int, seconds: float, count: int) -> dict[str, object]:
    until, ends = time.monotonic() + seconds, Counter[str]()
    looks: list[float] = []
    own: list[float] = []
    frames: list[float] = []
    sent = {"url": url, "seconds": seconds, "pages": count}
    others = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.hostile_pages", "--others"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    printed, *_ = await asyncio.gather(
        others.communicate(json.dumps(sent).encode()),
        good(url, until, frames, ends),
        memory(family, served, until, looks, own),
    )
    ends.update(json.loads(printed[0]))
    quarter = max(1, len(looks) // 4)
    gaps = [after - before for before, after in itertools.pairwise(frames)]
    return {
        "minutes": round(seconds / 60, 1),
        "hostile_pages": count,
        "memory_mb_first_quarter": statistics.median(looks[:quarter]),
        "memory_mb_last_quarter": statistics.median(looks[-quarter:]),
        "memory_mb_most": max(looks),
        "frames_per_second": round(len(frames) / seconds, 1),
        "frames_per_second_after_the_first": round((len(frames) - 1) / max(until - frames[0], 1.0), 1) if frames else 0,
        "longest_gap_seconds": round(max(gaps, default=seconds), 2),
        "sockets": dict(ends),
        "memory_mb": looks,
        "memory_mb_of_the_server": own,
    }


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--pages", type=int, default=20)
    parser.add_argument("--drill", default="gym:CartPole-v1")
    parser.add_argument("--label", default="", help="a part of the result's name")
    parser.add_argument("--others", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.others:
        print(json.dumps(asyncio.run(hostile_ones(**json.load(sys.stdin)))))
        return
    family = Family()
    command = [sys.executable, "-m", "dshq_widget.cli", "play", options.drill, "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=family.environment) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip().replace("http", "ws", 1).replace("/?", "/socket?")
            found = asyncio.run(measure(url, family, process.pid, 60 * options.minutes, options.pages))
            assert process.poll() is None, "dshq play has ended"
        finally:
            family.kill()
    print(write("hostile-pages" + f"_{options.label}" * bool(options.label), {"drill": options.drill, **found}))


if __name__ == "__main__":
    main()
