"""What a decision by search costs in the page: `python -m benchmarks.search_page` writes a result of that name.

Target (stated before measuring): below 8 ms at 16 particles and depth 4. In headless Chromium, without a worker and
without drawing: the search of js/match/search.ts for one side of the Ball Drill, gold against gold, where both sides
are networks; medians and 95th percentiles of milliseconds a decision after a warm-up. `score` is the match's: the side
that searches first.
"""

import argparse
import json
import statistics

import numpy as np
from playwright.sync_api import sync_playwright

from benchmarks.machine import describe, write
from dshq_widget import load_policy
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import drills
from tests.harness.browser.page import launch_chromium
from tests.harness.browser.page_code import matches_script

SIZES = ((1, 4), (4, 4), (16, 1), (16, 4), (16, 8), (64, 4), (64, 8))
WARM_UP = 50  # decisions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=int, default=600)
    arguments = parser.parse_args()
    drill = compile_drill(drills["ball"])  # type: ignore[arg-type]  # mypy doubts that classes can be hashed
    policy = load_policy("ball:gold")
    weights = {
        "version": 1,
        "layers": list(policy.spec.layers),
        "activation": policy.spec.activation,
        "data": np.asarray(policy.weights, np.float32).tolist(),
    }
    rows = []
    with sync_playwright() as playwright:
        browser = launch_chromium(playwright, webgpu=False)
        page = browser.new_page()
        page.add_script_tag(content=matches_script("search_speed") + ";globalThis.matches = matches;")
        for particles, depth in SIZES:
            settings = {"num_particles": particles, "search_depth": depth, "gamma": 0.995, "weights": {}}
            trait = {"spec": drill.spec.to_json(), "javascript": drill.javascript}
            found = page.evaluate(
                "given => matches.searchSpeed(...given)", [trait, weights, settings, WARM_UP + arguments.decisions]
            )
            times = found["times"][WARM_UP:]
            rows.append(
                {
                    "num_particles": particles,
                    "search_depth": depth,
                    "median_ms": round(statistics.median(times), 2),
                    "p95_ms": round(statistics.quantiles(times, n=20)[-1], 2),
                    "score": found["score"],
                }
            )
            print(rows[-1])
        report = {"machine": describe() | {"chromium": browser.version}, "decisions": arguments.decisions, "rows": rows}
        browser.close()
    print(json.dumps(report, indent=2))
    write("search_page", report)


if __name__ == "__main__":
    main()
