"""A run of a page as this version's pages have the browser keep it: for tools/released.py."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from dshq_kernels.play.records import learner_module
from dshq_widget.contract import settings
from dshq_widget.env.batch import compiled
from dshq_widget.widget import page_protocol
from tests.harness.typescript import run


def kept(folder: Path) -> None:
    """`kept.json`: a run after five updates, with its league; its file is in base64."""
    drill = compiled("ball")
    small = {"num_envs": 64, "rollout_length": 8, "minibatch_size": 256, "hidden_sizes": (4,), "snapshot_every": 2}
    order = {
        "spec": drill.spec.to_json(),
        "learner": base64.b64encode(learner_module(False)).decode(),
        "drill": base64.b64encode(drill.wasm(False)).decode(),
        "values": page_protocol.typed(settings.of_drill(drill.spec).replace(small).to_json()),
        "file": "",
        "updates": 5,
        "scenes": [],
        "paused": 0,
    }
    trained = run('export { default as main } from "./js/tests/harness/page_run";', order)
    of = {"rules": drill.rules_hash, "drill": drill.name, "version": 5, "file": trained["file"]}
    record = run('export { default as main } from "./js/features/in_page/tests/kept_record";', of)
    (folder / "kept.json").write_text(json.dumps({"spec": drill.spec.to_json(), **record}) + "\n")
