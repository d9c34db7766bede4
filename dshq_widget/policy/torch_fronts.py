"""Layers in front of the dense ones (dshq_kernels/network/layers.py), in torch with autograd."""

from __future__ import annotations

import torch
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from dshq_kernels.network.layers import OUTSIDE, Grid, Pairs, Places, sweep
from dshq_kernels.network.places import nearness
from dshq_widget.policy import convolutions
from dshq_widget.policy.layout import Layout

Layers = list[tuple[torch.Tensor, torch.Tensor]]
"""W `[n_in, n_out]` and b `[n_out]` of each layer of a network."""


def read(layout: Layout, filters: Layers, obs: torch.Tensor) -> torch.Tensor:
    """`layout.forward` of observations `[N, *shape]`; `filters`: (W, b) of each convolution, picture after picture."""
    pictures, numbers = layout.parts(obs)
    found, left = [], iter(filters)
    for pixels, picture in zip(layout.pictures, pictures, strict=True):
        x = (picture / 255).contiguous(memory_format=torch.channels_last)  # a quarter faster on a processor
        for _, _, stride in convolutions.layers(pixels):
            x = torch.relu(functional.conv2d(x, *next(left), stride))
        found.append(x.flatten(1))
    return torch.cat([*found, *numbers], 1)


def look_ahead(grid: Grid, matrix: torch.Tensor, bias: torch.Tensor, obs: torch.Tensor) -> torch.Tensor:
    """`layers.look_ahead` of observations `[N, n_obs]`, cell by cell as it is defined there."""
    seen = obs[:, : grid.inputs].view(-1, grid.planes + 1, grid.cells)
    given = seen[:, :-1].transpose(1, 2) @ matrix + bias  # [N, cells, 2 maps]
    cost = torch.nn.functional.softplus(given[..., : grid.maps]).unbind(1)
    value = list(given[..., grid.maps :].unbind(1))
    near = grid.neighbours().tolist()
    for k in range(grid.sweeps):
        for cell in sweep(grid, k):
            for other in near[cell]:
                if other >= 0:
                    spread = value[other] - cost[cell]
                    value[cell] = torch.where(spread > value[cell], spread, value[cell])
    nowhere = torch.full_like(value[0], OUTSIDE)
    gaps = [torch.stack([value[n] - value[c] if n >= 0 else nowhere for n in near[c]], -1) for c in range(grid.cells)]
    found = torch.einsum("nc,ncmw->nmw", seen[:, -1], torch.stack(gaps, 1)).flatten(1)
    return torch.cat([found, obs[:, grid.inputs :]], dim=1)


def traits_of_each(pairs: Pairs, parts: Layers, obs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """`layers.traits_of_each` of observations `[N, n_obs]`."""
    (of_items, item_bias), (of_spaces, space_bias), *_ = parts
    middle = pairs.items * pairs.of_item
    items = obs[:, :middle].reshape(-1, pairs.items, pairs.of_item)
    spaces = obs[:, middle : pairs.inputs].reshape(-1, pairs.spaces, pairs.of_space)
    return torch.relu(items @ of_items + item_bias), torch.relu(spaces @ of_spaces + space_bias)


def mean_traits(pairs: Pairs, parts: Layers, obs: torch.Tensor) -> torch.Tensor:
    """`layers.mean_traits` of observations `[N, n_obs]`."""
    items, spaces = traits_of_each(pairs, parts, obs)
    return torch.cat([items.mean(1), spaces.mean(1), obs[:, pairs.inputs :]], 1)


def judge_pairs(pairs: Pairs, parts: Layers, obs: torch.Tensor, said: torch.Tensor) -> torch.Tensor:
    """Logits, as `layers.judge_pairs` says, and the value `[N, n_actions + 1]`, of the context and the value. Sums are
    made item by item, and again for their slopes: all of them at once take gigabytes.
    """
    items, spaces = traits_of_each(pairs, parts, obs)
    _, _, (of_items, item_bias), (of_spaces, space_bias), (weigh, bias), *_ = parts
    space = spaces @ of_spaces + space_bias + said[:, None, :-1]

    def judge(part: torch.Tensor) -> torch.Tensor:
        return (torch.relu(part[:, None] + space) @ weigh + bias)[..., 0]  # [N, spaces]

    parts_of_items = (items @ of_items + item_bias).unbind(1)
    rows = [checkpoint(judge, part, use_reentrant=False, preserve_rng_state=False) for part in parts_of_items]
    return torch.cat([*rows, said[:, -1:]], 1)


def _places(front: Places, parts: Layers, obs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Of observations `[N, n_obs]`: each place's cell, its traits, and whether there is one (places.py)."""
    seen = obs[:, : front.inputs].view(-1, front.places, front.of_place)
    last = front.cells - 1
    cell = torch.nan_to_num(torch.round(seen[..., 0] * last)).clamp(0, last).long()
    there = seen[..., 1:]
    exists = (there != 0).any(-1, keepdim=True).to(obs.dtype)
    return cell, torch.relu(there @ parts[0][0] + parts[0][1]) * exists, exists


def read_places(front: Places, parts: Layers, obs: torch.Tensor) -> torch.Tensor:
    """`places.read_places` of observations `[N, n_obs]`."""
    _, traits, _ = _places(front, parts, obs)
    return torch.cat([traits.mean(1), obs[:, front.inputs :]], 1)


def judge_places(front: Places, parts: Layers, obs: torch.Tensor, said: torch.Tensor) -> torch.Tensor:
    """Logits, as `places.judge_places` says, and the value `[N, n_actions + 1]`, of what is said and the value."""
    cell, traits, exists = _places(front, parts, obs)
    pulls = (traits @ parts[1][0] + parts[1][1]) * exists
    near = torch.from_numpy(nearness(front).copy()).to(obs.device)[cell]  # [N, places, reaches, cells]
    pulled = torch.einsum("npr,nprc->nc", pulls, near)
    return torch.cat([(said[:, :-1, None] + pulled[:, None]).flatten(1), said[:, -1:]], 1)
