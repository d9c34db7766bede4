"""`dshq play`: a drill's widget in the browser, without Jupyter, for as long as this process lives."""

from __future__ import annotations

import json
import os
import sys
import webbrowser
from typing import Any

from dshq_widget.cli import interrupts, keeping
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.drill.declaration import Drill
from dshq_widget.system.ending import EndSignal
from dshq_widget.widget.drill_widget import DrillWidget
from dshq_widget.widget.play_server import serve


def play(
    drill: str | os.PathLike[str] | type[Drill] | CompiledDrill,
    *,
    policy: str | None = None,
    algorithm: str | None = None,
    engine: str = "local",
    network: str | None = None,
    port: int = 0,
    browser: bool = True,
    as_json: bool = False,
) -> dict[str, str]:
    """Serve a widget of `drill`, in which the policy file `policy` plays if one is given, until Ctrl-C or SIGTERM.
    Train trains by `algorithm` (default: the drill's), in the page with `engine="page"`; `network` is a network of
    one's own. What was trained when it ends is kept in a temporary file, and stderr says where.

    As soon as it answers, its address is the last line of stdout; with `as_json` that is {url, drill}, which is what is
    returned, too. `browser` opens it. Raises ValueError for what DrillWidget or `serve` does not take.
    """
    how: dict[str, Any] = {"algorithm": algorithm, "engine": engine, "network": network}
    with DrillWidget(drill, policy=policy, **how) as widget:
        with EndSignal() as ended:
            server = serve(widget, port)
            first = _trained(widget)
            said = {"url": server.url, "drill": widget.drill["spec"]["name"]}
            print(json.dumps(said) if as_json else server.url, flush=True)
            if browser:
                webbrowser.open(server.url)
            ended.wait()
            server.close()
            interrupts.hold()
        if _trained(widget) != first:
            _, kept = keeping.rescue(widget._trainer, None, first=0)
            print(f"dshq: {kept}", file=sys.stderr)
    return said


def _trained(widget: DrillWidget) -> tuple[int, int]:
    """How much its policy was trained: version and agent steps. They may fall: *Forget everything* begins anew."""
    newest = widget._trainer.latest_policy()
    return newest.version, newest.step
