"""The rules give the same bits in a real browser as on the CPU: every state after every tick, 16 games."""

import base64
import hashlib

import pytest

from dshq_widget import drills
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.env.trace import DRIVER, trace

pytestmark = pytest.mark.browser

MAIN = """
([source, spec, ticks, seed]) => {
    const collected = [[], []];
    const keep = list => a => list.push(new Uint8Array(a.buffer, a.byteOffset, a.byteLength).slice());
    const episodes = trace(source, spec, ticks, seed, ...collected.map(keep));
    const read = async list => await new Promise(done => {
        const reader = new FileReader();
        reader.onload = () => done(reader.result.split(",")[1]);
        reader.readAsDataURL(new Blob(list));
    });
    return Promise.all(collected.map(read)).then(([state, views]) => ({ episodes, state, views }));
}
"""


@pytest.mark.parametrize("seed", [0, pytest.param(12345, marks=pytest.mark.slow)])
def test_ball_drill(plain_chromium, seed: int):
    ticks = 2400
    drill = compile_drill(drills.get("ball"))
    page = plain_chromium.new_page()
    page.add_script_tag(content=DRIVER.read_text())
    seen = page.evaluate(MAIN, [drill.javascript, drill.spec.to_json(), ticks, seed])
    page.close()
    wanted = trace(drill, ticks, seed, backend="cpu")
    assert seen["episodes"] == wanted["episodes"] > 0
    for name, key in (("state", "sha256"), ("views", "views_sha256")):
        assert hashlib.sha256(base64.b64decode(seen[name])).hexdigest() == wanted[key], name
