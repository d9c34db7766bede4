"""What a trainer begins with: the game, the file that it continues from, the algorithm and its settings."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dshq_widget import algorithms
from dshq_widget.contract import presets, settings
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.drill.declaration import Drill
from dshq_widget.gyms.environment import Environment
from dshq_widget.policy import checkpoint, compatibility, own_network
from dshq_widget.policy.own_spec import OwnSpec
from dshq_widget.training.any_drill import compiled
from dshq_widget.training.given_network import found
from dshq_widget.training.run.config import RunConfig

if TYPE_CHECKING:
    from dshq_widget.algorithms.algorithm import Algorithm


@dataclasses.dataclass(frozen=True)
class Opening:
    """`saved` is the file at `resume`, both None for a run from the beginning; `own` are the algorithm's settings."""

    drill: CompiledDrill | Environment
    algorithm: Algorithm
    resume: str | os.PathLike[str] | None
    saved: checkpoint.Checkpoint | None
    own: Mapping[str, Any]

    def config(self, preset: str | None, hyper: Mapping[str, Any]) -> RunConfig:
        """The file's settings or the drill's, those of a preset over them, and over all what is named. Raises
        ConfigError, ValueError for an algorithm that cannot train this with them, and CheckpointError for a file of
        another network.
        """
        config = RunConfig(
            self.drill, self.algorithm, None if self.saved is None else compatibility.settings_of(self.saved)
        )
        if preset is not None:
            config.change(presets.values(preset, settings.of_drill(self.drill.spec)))
            config.choose(presets.PRESETS[preset].hyper)
        config.change({f"{self.algorithm.name}.{key}": value for key, value in self.own.items()})
        config.change(hyper)
        config.check(hyper)
        if self.saved is not None:  # before weights are drawn: a small file may name an environment with many actions
            name = os.path.basename(os.fspath(self.resume or ""))
            compatibility.check_layers(self.saved, name, self.drill.spec, config.network())
        return config


def opened(
    drill: str | os.PathLike[str] | type[Drill] | CompiledDrill | Environment,
    resume: str | os.PathLike[str] | None,
    algorithm: str | Algorithm | None,
    algorithm_settings: Mapping[str, Mapping[str, Any]] | None,
    network: str | Callable[..., Any] | None,
) -> Opening:
    """See `Trainer` for what is given, and for what is raised."""
    if resume is None and (isinstance(drill, os.PathLike) or (isinstance(drill, str) and drill.endswith(".dshq"))):
        resume = drill
    saved = None if resume is None else checkpoint.load(resume)
    if saved is not None and resume is not None and drill is resume:
        path = os.fspath(resume)
        what = repr(saved.drill) if saved.environment else "its class"
        drill = compatibility.known_drill(saved, path, f"pass {what} as the drill and resume={path!r}")
    game = compiled(drill)
    declared = game.spec.algorithm if saved is None else saved.algorithm
    chosen = algorithms.chosen(algorithm) if algorithm else algorithms.get(declared)
    if network is not None:
        chosen = chosen.with_network(OwnSpec.of(game.spec, found(network)), game.spec)
    elif saved is not None and saved.network:
        name = os.path.basename(os.fspath(resume or ""))
        raise checkpoint.CheckpointError(f"cannot continue from {name!r}: {own_network.needed(saved.network)}")
    kept = {} if saved is None else chosen.settings_in(saved)
    own = {**kept, **algorithms.section(algorithm_settings, chosen)}
    chosen.read(own)
    return Opening(game, chosen, resume, saved, own)
