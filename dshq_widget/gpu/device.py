"""The devices besides the processor, and the choice of a learner's. torch is imported only where it is used.

On a device of torch's without a line here networks are torch's own and the games' rules run on the processor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dshq_widget.contract.places import found_at
from dshq_widget.gpu.cuda import CUDA
from dshq_widget.gpu.plug import Device

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import torch

    from dshq_widget.policy.network import PolicySpec

DEVICES: dict[str, Device] = {
    "cuda": CUDA,
}
"""By torch's name; the setting `device` has the same (contract/settings.py)."""


def kind(device: str) -> str:
    """ "cuda" of "cuda:1"."""
    return device.partition(":")[0]


def named(device: str) -> str:
    """What a person reads."""
    return "GPU" if kind(device) in DEVICES else "CPU"


def check_device(wanted: str) -> None:
    """Raises RuntimeError with one sentence if the setting `device` names one that plainly is not here. Imports no
    torch.
    """
    if wanted in DEVICES:
        DEVICES[wanted].check()


def choose_device(wanted: str) -> str:
    """A device for the setting `device`; torch is imported only if there is a GPU to check. Raises RuntimeError if one
    is set that is not here.
    """
    check_device(wanted)
    for name, device in DEVICES.items():
        if wanted in ("auto", name) and device.found(wanted == name):
            return name
    return "cpu"


def why_no_rules(device: str) -> str:
    """Why games cannot run on this device, "" if they can."""
    found = DEVICES.get(kind(device))
    return "" if found is None else str(found_at(found.why_no_rules)())


def captured(work: Callable[[], None], kept: Sequence[torch.Tensor], device: torch.device) -> Any:
    """See `Device.captured`."""
    return found_at(DEVICES[device.type].captured)(work, kept)


def own_network(spec: PolicySpec, weights: torch.Tensor, precision: str, wanted: bool | None) -> Any:
    """The kernels of a network; None where torch's own operations do. Raises ValueError if they are `wanted` and no
    device has any.
    """
    made = (found_at(each.network)(spec, weights, precision, wanted) for each in DEVICES.values())
    found = next(filter(None, made), None)
    if wanted and found is None:
        raise ValueError("kernels=True needs a device that has some: leave it out")
    return found


def join(device: str) -> str:
    """See `Device.join`; of the processor, too."""
    found = DEVICES.get(kind(device))
    return "gloo" if found is None else found.join(device)
