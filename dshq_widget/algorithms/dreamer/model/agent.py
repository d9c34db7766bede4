"""A whole Dreamer: world model, actor, critic and their optimisers; one update from one batch of sequences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy

import torch
from torch import Tensor, nn

from dshq_widget.algorithms.dreamer.model import behaviour
from dshq_widget.algorithms.dreamer.model import distributions as dist
from dshq_widget.algorithms.dreamer.model.layers import initialise
from dshq_widget.algorithms.dreamer.model.optimiser import FlatAdam
from dshq_widget.algorithms.dreamer.model.rssm import States
from dshq_widget.algorithms.dreamer.model.sizes import SIZES
from dshq_widget.algorithms.dreamer.model.spots import SpotDecoder
from dshq_widget.algorithms.dreamer.model.tensors import continue_chance
from dshq_widget.algorithms.dreamer.model.world_model import WorldModel
from dshq_widget.algorithms.dreamer.settings import DreamerSettings
from dshq_widget.learning import seeds

ACTING = ("model", "actor")
"""The parts that a policy needs to play and to dream."""


class Dreamer:
    """`chance` is the only source of random numbers; weights come from `seed`, too."""

    def __init__(
        self, settings: DreamerSettings, n_actions: int, seed: int, device: str | torch.device = "cpu"
    ) -> None:
        size, self.settings = SIZES[settings.size], settings
        self.device = torch.device(device)
        weights = torch.Generator().manual_seed(seeds.apart(seed, seeds.WEIGHTS))
        self.model = WorldModel(
            size,
            n_actions,
            unpack_impl=settings.unpack_impl,
            rare_shades=settings.rare_shades,
            free_nats=settings.free_nats,
        )
        self.actor, self.critic = behaviour.Actor(size, n_actions), behaviour.Critic(size)
        for part in (self.model, self.actor, self.critic):
            initialise(part, weights)
            if part is self.model and isinstance(self.model.decoder, SpotDecoder):
                self.model.decoder.initialise(weights)
            part.to(self.device)
        self.slow = deepcopy(self.critic).requires_grad_(False)
        self.optimisers = {
            "model": FlatAdam(self.model),
            "actor": FlatAdam(self.actor),
            "critic": FlatAdam(self.critic),
        }
        self.slow_weights = flattened(self.slow)
        self.scale = behaviour.ReturnScale()
        self.chance = torch.Generator(self.device).manual_seed(seeds.apart(seed, seeds.LATENTS))
        self.skipped = 0

    def change(self, settings: DreamerSettings) -> None:
        """Learn by other settings from now on."""
        self.settings = settings
        self.model.change(settings.rare_shades, settings.free_nats)

    def learn(
        self, batch: Mapping[str, Tensor], rate: float = 1.0, remember: Callable[[States], None] | None = None
    ) -> dict[str, float]:
        """One update of everything from sequences `[T, B]` (pixels/ring.py); `rate` is a factor of the learning rates;
        `remember` gets the states that were found. Returns metrics by the flat names of contract/metrics.py; none,
        and nothing changes, where a gradient is not finite.
        """
        settings, before = self.settings, self.scale.spread
        found, states = self.model_gradients(batch)
        found |= self.behaviour_gradients(batch, states)
        norms = {name: each.norm() for name, each in self.optimisers.items()}
        names, tensors = zip(*(found | {f"norm {name}": norm for name, norm in norms.items()}).items(), strict=True)
        numbers = dict(zip(names, torch.stack(tensors).tolist(), strict=True))  # the only wait for the device
        if not all(map(math.isfinite, numbers.values())):
            self.skipped += 1
            self.scale.restore(before)
            for each in self.optimisers.values():
                each.grads.zero_()
            return {}
        for name, each in self.optimisers.items():
            own = settings.learning_rate if name == "model" else settings.behaviour_learning_rate
            each.step(own * rate, settings.max_grad_norm, norms[name])
        self.slow_weights.lerp_(self.optimisers["critic"].weights, behaviour.SLOW_RATE)
        if remember is not None:
            remember(states)
        return {name: numbers[name] for name in found} | {"grad_norm": numbers["norm model"]}

    def model_gradients(self, batch: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], States]:
        """Add the world model's gradients; its losses, and the states that it found."""
        size = self.model.size
        uniform = self.uniform(*batch["reward"].shape, size.stoch, size.classes)
        losses, states = self.model.losses(batch, uniform)
        losses.total.backward()
        with torch.no_grad():
            found = {
                "loss_world_model": losses.total.detach(),
                "loss_image": losses.image.detach(),
                "loss_reward": losses.reward.detach(),
                "loss_continue": losses.continues.detach(),
                "surprise": dist.divergence(states.posterior, states.prior).mean(),
                "posterior_entropy": dist.entropy(states.posterior).sum(-1).mean(),
                "prior_entropy": dist.entropy(states.prior).sum(-1).mean(),
            }
        return found, states

    def behaviour_gradients(self, batch: Mapping[str, Tensor], states: States) -> dict[str, Tensor]:
        """Add the gradients of actor and critic, learned in imagination from `states`; their losses."""
        settings, model = self.settings, self.model
        h, z = states.h.detach().flatten(0, 1), states.z.detach().flatten(0, 1)
        real = batch["continues"].flatten()
        count = min(settings.starts or len(h), len(h))
        chosen = torch.arange(len(h), device=self.device)
        if count < len(h):
            chosen = torch.randperm(len(h), generator=self.chance, device=self.device)[:count]
            h, z, real = h[chosen], z[chosen], real[chosen]
        dreamt = self.imagine(h, z, settings.horizon)
        continues = torch.cat([real[None], dreamt.continues[1:]])
        weights = behaviour.path_weights(continues, settings.discount)[:-1]
        logits = self.critic(dreamt.latents)
        value = dist.mean_of_bins(logits.detach(), model.bins)
        returns = behaviour.lambda_returns(dreamt.reward, continues, value, settings.discount)
        scale = self.scale.update(returns)
        log_probs = self.actor(dreamt.latents[:-1])
        advantage = (returns - value[:-1]) / scale
        policy = behaviour.actor_loss(log_probs, dreamt.actions, advantage, weights, settings.entropy_coef)
        with torch.no_grad():
            slow = self.slow(dreamt.latents[:-1])
        critic = behaviour.critic_loss(logits[:-1], slow, returns, weights, model.bins)
        replayed = self._replay_loss(batch, states, chosen, returns[0]) if settings.replay_value else policy * 0
        (policy + critic + settings.replay_value * replayed).backward()
        with torch.no_grad():
            return {
                "loss_policy": policy.detach(),
                "loss_critic": critic.detach(),
                "entropy": dist.entropy(log_probs).mean(),
                "imagined_return": returns.mean(),
                "return_scale": scale,
            }

    def _replay_loss(self, batch: Mapping[str, Tensor], states: States, chosen: Tensor, imagined: Tensor) -> Tensor:
        """The critic's loss on the steps that were played. `imagined` returns belong to the states `chosen`; the critic
        speaks for the others.
        """
        settings, model, latents = self.settings, self.model, states.latent.detach()
        logits = self.critic(latents)
        ahead = dist.mean_of_bins(logits.detach(), model.bins).flatten().index_copy(0, chosen, imagined.detach())
        ahead = ahead.view(batch["reward"].shape)
        returns, counts = behaviour.replay_returns(
            batch["reward"], batch["continues"], batch["is_first"], ahead, settings.discount
        )
        with torch.no_grad():
            slow = self.slow(latents[:-1])
        return behaviour.critic_loss(logits[:-1], slow, returns, counts.to(returns.dtype), model.bins)

    @torch.no_grad()
    def imagine(self, h: Tensor, z: Tensor, steps: int) -> behaviour.Imagined:
        """`steps` steps of the actor from states h `[N, deter]`, z `[N, stoch * classes]`."""
        model, size = self.model, self.model.size
        latents, actions = [torch.cat([z, h], -1)], []
        for _ in range(steps):
            log_probs = self.actor(latents[-1])
            action = dist.drawn(log_probs, self.uniform(*log_probs.shape))
            uniform = self.uniform(len(h), size.stoch, size.classes)
            h, z = model.rssm.imagine_step(h, z, dist.one_hot(action, model.n_actions), uniform)
            latents.append(torch.cat([z, h], -1))
            actions.append(action)
        path = torch.stack(latents)
        return behaviour.Imagined(path, torch.stack(actions), model.reward(path), model.continues(path))

    def uniform(self, *shape: int) -> Tensor:
        """f32 in [0, 1)."""
        return torch.rand(shape, generator=self.chance, device=self.device)

    def forget_moments(self) -> None:
        """Fresh optimisers; the weights, which were finite at every step, stay."""
        for each in self.optimisers.values():
            each.forget()

    def acting(self) -> Tensor:
        """f32 `[acting_floats]` (sizes.py), a copy: what plays and dreams, the weights of the model and the actor."""
        return torch.cat([self.optimisers[name].weights for name in ACTING]).cpu()

    def act_with(self, weights: Tensor) -> None:
        """Take over what `acting` returned. Raises ValueError for another size, and nothing changes."""
        rows = [self.optimisers[name].weights for name in ACTING]
        if len(weights) != sum(map(len, rows)):
            raise ValueError(
                f"the file's policy has {len(weights):,} weights, and one of size {self.settings.size!r} for "
                f"{self.model.n_actions} actions has {sum(map(len, rows)):,}: choose the file's size and drill"
            )
        for row, given in zip(rows, weights.split([len(row) for row in rows]), strict=True):
            row.copy_(given)

    def state(self, moments: bool = True) -> dict[str, Tensor]:
        """Everything that an exact continuation needs, on the processor."""
        rows = {"slow": self.slow_weights, "spread": self.scale.spread, "chance": self.chance.get_state()}
        for name, each in self.optimisers.items():
            rows |= {f"{name}.weights": each.weights, f"{name}.steps": torch.tensor(each.steps)}
            rows |= {f"{name}.m": each.m, f"{name}.v": each.v} if moments else {}
        return {name: row.cpu() for name, row in rows.items()}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Take over what `state` returned. Raises ValueError for another size, and nothing changes."""
        for name, each in self.optimisers.items():
            given = len(state[f"{name}.weights"])
            if given != len(each.weights):
                raise ValueError(
                    f"the file's {name} has {given:,} weights, and one of size {self.settings.size!r} for "
                    f"{self.model.n_actions} actions has {len(each.weights):,}: choose the file's size and drill"
                )
        for name, each in self.optimisers.items():
            each.forget()
            each.weights.copy_(state[f"{name}.weights"])
            if f"{name}.m" in state:
                each.m.copy_(state[f"{name}.m"])
                each.v.copy_(state[f"{name}.v"])
                each.go_on(int(state[f"{name}.steps"]))
        self.slow_weights.copy_(state["slow"])
        self.scale.restore(state["spread"].clone().to(self.device))
        continue_chance(self.chance, state["chance"])


class Player:
    """The policy of `n` games: keeps their latents, and draws its actions with `chance`; the likeliest if `greedy`."""

    def __init__(self, dreamer: Dreamer, n: int, chance: torch.Generator, greedy: bool = False) -> None:
        self.dreamer, self.chance, self.greedy = dreamer, chance, greedy
        h, z = dreamer.model.rssm.initial(torch.zeros(n, device=dreamer.device))
        self.h, self.z = h.detach().clone(), z.detach().clone()
        self.action = torch.zeros(n, dreamer.model.n_actions, device=dreamer.device)
        self.posterior: Tensor | None = None
        """What the last frames said of z: log probabilities `[n, stoch, classes]`."""

    @property
    def latent(self) -> Tensor:
        """f32 `[n, latent]` of the last frames."""
        return torch.cat([self.z, self.h], -1)

    def memory(self) -> tuple[Tensor, Tensor]:
        """What it remembers of its games, as the replay ring keeps it: h, and z as classes u8 `[n, stoch]`."""
        size = self.dreamer.model.size
        return self.h, self.z.unflatten(-1, (size.stoch, size.classes)).argmax(-1).to(torch.uint8)

    @torch.no_grad()
    def __call__(self, frames: Tensor, is_first: Tensor) -> Tensor:
        """Frames u8 `[n, 1, 72, 20]`, is_first bool `[n]` -> actions, whole numbers `[n]`."""
        model, size = self.dreamer.model, self.dreamer.model.size
        seen = model.rssm.of_frame(model.encoder(model.pixels(frames)))
        uniform = self._uniform(len(frames), size.stoch, size.classes)
        self.h, self.z, self.posterior = model.rssm.observe_step(self.h, self.z, self.action, is_first, seen, uniform)
        log_probs = self.dreamer.actor(self.latent)
        drawn = dist.drawn(log_probs, self._uniform(*log_probs.shape))
        action = log_probs.argmax(-1) if self.greedy else drawn
        self.action = dist.one_hot(action, model.n_actions)
        return action

    def _uniform(self, *shape: int) -> Tensor:
        return torch.rand(shape, generator=self.chance, device=self.dreamer.device)

    def state(self) -> dict[str, Tensor]:
        """What it remembers of its games, and its generator."""
        return {"h": self.h, "z": self.z, "action": self.action, "draws": self.chance.get_state()}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Take over what `state` returned. Raises ValueError, and changes nothing, for what another network, or
        another number of games, has left.
        """
        memory = {"h": self.h, "z": self.z, "action": self.action}
        for name, own in memory.items():
            if state[name].shape != own.shape:
                found, wanted = list(state[name].shape), list(own.shape)
                raise ValueError(f"the player's {name} must be of shape {wanted}, got {found}")
        self.h, self.z, self.action = (state[name].to(own, copy=True) for name, own in memory.items())
        continue_chance(self.chance, state["draws"])


def flattened(module: nn.Module) -> Tensor:
    """One tensor f32 `[n]` whose parts are the module's parameters from now on."""
    parameters: Iterator[nn.Parameter] = module.parameters()
    row = torch.cat([each.detach().flatten() for each in module.parameters()])
    at = 0
    for each in parameters:
        each.data = row[at : at + each.numel()].view(each.shape)
        at += each.numel()
    return row
