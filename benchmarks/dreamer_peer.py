"""The world model beside that of NM512/dreamerv3-torch, in one run.

`python -m benchmarks.dreamer_peer --checkout PATH`, where PATH is a clone of it, which runs with this project's own
interpreter (its writer for TensorBoard is left out). Both learn from 16 sequences of 16 frames of 64 x 64 pixels with
the widths of the size `nano`: three convolutions of 16 to 64 channels, a GRU of 256, 16 variables of 16 classes, heads
of two layers of 128. A step is one frame of a sequence; an update is the losses, their gradients and the optimiser.
Rounds are in turn, one torch thread. Writes benchmarks/results/dreamer_peer-*.json.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from benchmarks.machine import describe, write
from benchmarks.peers.running import compare, measure
from dshq_widget.algorithms.dreamer.model.sizes import SIZES

SIZE = replace(SIZES["nano"], strides=(2, 2, 2))
BATCH, LENGTH, SIDE, ACTIONS, SECONDS = 16, 16, 64, 9, 10.0

CLOCK = """
import json, time
def timed(update):
    for _ in range(3): update()
    begin, steps = time.perf_counter(), 0
    while time.perf_counter() - begin < {seconds}:
        update(); steps += {batch} * {length}
    print(json.dumps(steps / (time.perf_counter() - begin)))
"""
OURS = """
import torch
torch.set_num_threads(1)
from dshq_widget.algorithms.dreamer.model.layers import initialise
from dshq_widget.algorithms.dreamer.model.optimiser import FlatAdam
from dshq_widget.algorithms.dreamer.model.sizes import SIZES
from dshq_widget.algorithms.dreamer.model.world_model import WorldModel
size, chance = SIZES["nano"], torch.Generator().manual_seed(0)
model = WorldModel(size, {actions}, height={side}, width={side})
initialise(model, chance)
optimiser = FlatAdam(model)
shape = ({length}, {batch})
first = torch.zeros(shape, dtype=torch.bool)
first[0] = True
data = dict(obs=torch.randint(4, (*shape, 1, {side}, {side}), generator=chance, dtype=torch.uint8), is_first=first,
            action=torch.randint({actions}, shape, generator=chance, dtype=torch.int32),
            reward=torch.rand(shape, generator=chance), continues=torch.ones(shape))
def update():
    losses, _ = model.losses(data, torch.rand(*shape, size.stoch, size.classes, generator=chance))
    losses.total.backward()
    optimiser.step(1e-4, 100.0, optimiser.norm())
timed(update)
"""
THEIRS = """
import sys, types
writer = types.ModuleType("torch.utils.tensorboard")
writer.SummaryWriter = object
sys.modules["torch.utils.tensorboard"] = writer
sys.path.insert(0, {checkout!r})
import numpy as np, torch
torch.set_num_threads(1)
import models
cnn = dict(mlp_keys="$^", cnn_keys="image", act="SiLU", norm=True, cnn_depth={depth}, kernel_size=4, minres=8,
           mlp_layers=2, mlp_units={units}, symlog_inputs=True)
config = types.SimpleNamespace(
    precision=32, device="cpu", num_actions={actions}, dyn_stoch={stoch}, dyn_deter={deter}, dyn_hidden={hidden},
    dyn_rec_depth=1, dyn_discrete={classes}, act="SiLU", norm=True, dyn_mean_act="none", dyn_std_act="sigmoid2",
    dyn_min_std=0.1, unimix_ratio=0.01, initial="learned", units={units}, encoder=cnn,
    decoder={{**{{k: v for k, v in cnn.items() if k != "symlog_inputs"}}, "cnn_sigmoid": False, "image_dist": "mse",
              "vector_dist": "symlog_mse", "outscale": 1.0}},
    reward_head=dict(layers={predictors}, dist="symlog_disc", loss_scale=1.0, outscale=0.0),
    cont_head=dict(layers={predictors}, loss_scale=1.0, outscale=1.0), grad_heads=["decoder", "reward", "cont"],
    model_lr=1e-4, opt_eps=1e-8, grad_clip=1000, weight_decay=0.0, opt="adam", kl_free=1.0, dyn_scale=0.5,
    rep_scale=0.1, discount=0.997)
space = types.SimpleNamespace(spaces={{"image": np.zeros(({side}, {side}, 1), np.uint8)}})
model = models.WorldModel(space, None, 0, config)
rng, shape = np.random.default_rng(0), ({batch}, {length})
first = np.zeros(shape, bool)
first[:, 0] = True
data = dict(image=rng.integers(0, 256, (*shape, {side}, {side}, 1), np.uint8), is_first=first,
            action=np.eye({actions}, dtype=np.float32)[rng.integers(0, {actions}, shape)],
            reward=rng.random(shape, np.float32), is_terminal=np.zeros(shape, bool))
timed(lambda: model._train(data))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", required=True, help="a clone of NM512/dreamerv3-torch")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    fill = {
        **{key: getattr(SIZE, key) for key in ("deter", "stoch", "classes", "hidden", "units", "depth", "predictors")},
        "batch": BATCH,
        "length": LENGTH,
        "side": SIDE,
        "actions": ACTIONS,
        "seconds": SECONDS,
        "checkout": options.checkout,
    }
    row = compare(
        "world model of size nano, one core, against dreamerv3-torch (steps/s)",
        lambda: measure(sys.executable, (CLOCK + OURS).format(**fill)),
        lambda: measure(sys.executable, (CLOCK + THEIRS).format(**fill)),
        options.rounds,
    )
    write("dreamer_peer", {"machine": describe(), "rows": [row]})


if __name__ == "__main__":
    main()
