"""Dreamer's formulas against numbers worked out by hand, and its model on made-up frames."""

import math

import numpy as np
import pytest
import torch

from dshq_widget.algorithms.dreamer.model import behaviour, layers, places, sizes, world_model
from dshq_widget.algorithms.dreamer.model import distributions as dist
from dshq_widget.algorithms.dreamer.model.agent import Dreamer, Player
from dshq_widget.algorithms.dreamer.model.optimiser import FlatAdam
from dshq_widget.algorithms.dreamer.model.rssm import RSSM, Context
from dshq_widget.algorithms.dreamer.model.sizes import Size
from dshq_widget.algorithms.dreamer.model.world_model import WorldModel, shade_weights
from dshq_widget.algorithms.dreamer.settings import DreamerSettings
from dshq_widget.contract.setting import ConfigError
from dshq_widget.pixels import packing
from dshq_widget.pixels.ring import UNKNOWN

TINY = Size(deter=6, stoch=2, classes=3, hidden=5, units=8, depth=2, predictors=1, behaviour=1)
ACTIONS = 3


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def batch(steps: int = 6, games: int = 4, seed: int = 0) -> dict[str, torch.Tensor]:
    """A ball that runs from left to right, and is worth 1 in the middle."""
    chance = rng(seed)
    shades = torch.zeros(steps, games, 1, 72, 80, dtype=torch.uint8)
    start = torch.randint(0, 20, (games,), generator=chance)
    for t in range(steps):
        for k in range(games):
            x = int(start[k]) + 8 * t
            shades[t, k, 0, 30:40, x : x + 8] = 3
    is_first = torch.zeros(steps, games, dtype=torch.bool)
    is_first[0], is_first[steps // 2, 0] = True, True
    return {
        "obs": packing.pack(shades),
        "action": torch.randint(0, ACTIONS, (steps, games), generator=chance, dtype=torch.int32),
        "reward": (torch.arange(steps)[:, None] == steps // 2).float().expand(steps, games).clone(),
        "is_first": is_first,
        "continues": torch.ones(steps, games),
        "episode_id": torch.zeros(steps, games, dtype=torch.int32),
    }


class TestDistributions:
    def test_two_hot_has_the_mean_of_its_number(self):
        places = dist.bins()
        assert len(places) == 255 and places[127] == 0 and torch.equal(places, -places.flip(0))
        assert places[-1] == pytest.approx(math.expm1(20), rel=1e-5) and (places.diff() > 0).all()
        x = torch.tensor([-3.7, 0.0, 0.01, 1.0, 250.0, -1e30, 1e30])
        weights = dist.two_hot(x, places)
        assert ((weights > 0).sum(-1) <= 2).all() and torch.allclose(weights.sum(-1), torch.ones(7))
        assert torch.allclose((weights * places).sum(-1)[:5], x[:5], rtol=1e-4, atol=1e-6)
        assert weights[5, 0] == 1 and weights[6, -1] == 1 and weights[1, 127] == 1
        small = torch.tensor([-2.0, 0, 1, 4])
        assert dist.two_hot(torch.tensor([2.0, -1.5]), small).tolist() == pytest.approx(
            [pytest.approx([0, 0, 2 / 3, 1 / 3]), pytest.approx([0.75, 0.25, 0, 0])]
        )

    def test_equal_logits_mean_exactly_nothing(self):
        assert (dist.mean_of_bins(torch.full((5, 255), 0.3), dist.bins()) == 0).all()

    def test_one_per_cent_is_uniform(self):
        probs = dist.mixed(torch.tensor([100.0, 0, 0, 0])).exp()
        assert probs.tolist() == pytest.approx([0.9925, 0.0025, 0.0025, 0.0025])

    def test_draws_follow_the_probabilities_and_the_numbers_given(self):
        log_probs = torch.tensor([0.7, 0.2, 0.1]).log().expand(20_000, 3)
        uniform = torch.rand(20_000, 3, generator=rng())
        counts = dist.drawn(log_probs, uniform).bincount() / 20_000
        assert counts.tolist() == pytest.approx([0.7, 0.2, 0.1], abs=0.02)
        assert torch.equal(dist.drawn(log_probs, uniform), dist.drawn(log_probs, uniform))

    def test_a_sample_has_the_gradient_of_its_probabilities(self):
        logits = torch.tensor([[0.3, -0.2, 1.0]], requires_grad=True)
        worth = torch.tensor([1.0, 2, 4])
        sample = dist.straight_through(dist.mixed(logits), torch.rand(1, 3, generator=rng()))
        assert sorted(sample[0].tolist()) == pytest.approx([0, 0, 1], abs=1e-6)
        (sample * worth).sum().backward()
        straight, logits.grad = logits.grad.clone(), None
        (dist.mixed(logits).exp() * worth).sum().backward()
        assert torch.allclose(straight, logits.grad)

    def test_divergence_by_hand(self):
        p, q = torch.tensor([[[0.5, 0.5], [0.9, 0.1]]]), torch.tensor([[[0.25, 0.75], [0.9, 0.1]]])
        wanted = 0.5 * math.log(2) + 0.5 * math.log(0.5 / 0.75)
        assert dist.divergence(p.log(), q.log()).tolist() == pytest.approx([wanted])


class TestBehaviour:
    def test_lambda_returns_by_hand(self):
        reward, value = torch.tensor([[9.0], [1], [0], [2]]), torch.tensor([[9.0], [3], [5], [7]])
        goes_on = torch.tensor([[1.0], [1], [0], [1]])
        last = 2 + 0.9 * 1 * 7
        middle = 0 + 0.9 * 0
        first = 1 + 0.9 * (0.05 * 3 + 0.95 * middle)
        found = behaviour.lambda_returns(reward, goes_on, value, 0.9)
        assert found.flatten().tolist() == pytest.approx([first, middle, last])

    def test_returns_of_what_was_played_by_hand(self):
        """An episode that is terminated with row 2; row 3 begins the next one, and the rows end in its middle."""
        reward, goes_on = torch.tensor([[9.0], [1], [2], [0], [5]]), torch.tensor([[1.0], [1], [0], [1], [1]])
        is_first, ahead = torch.tensor([[True], [False], [False], [True], [False]]), torch.arange(3.0, 8)[:, None]
        returns, counts = behaviour.replay_returns(reward, goes_on, is_first, ahead, 0.9)
        assert counts.flatten().tolist() == [True, True, False, True], "nothing follows an episode's last step"
        assert returns[1] == 2 and returns[3] == pytest.approx(5 + 0.9 * 7)
        assert returns[0] == pytest.approx(1 + 0.9 * (0.05 * 4 + 0.95 * 2))
        cut = torch.ones_like(goes_on)  # a time-out instead: what was imagined from the last row stands for the rest
        assert behaviour.replay_returns(reward, cut, is_first, ahead, 0.9)[0][1] == pytest.approx(2 + 0.9 * 5)

    def test_what_is_not_reached_weighs_nothing(self):
        goes_on = torch.tensor([[1.0, 0], [1, 1], [0, 1], [1, 1]])
        weights = behaviour.path_weights(goes_on, 0.5)
        assert weights.tolist() == [[1, 0], [0.5, 0], [0, 0], [0, 0]]

    def test_the_scale_is_a_moving_spread_of_at_least_one(self):
        scale, returns = behaviour.ReturnScale(), torch.linspace(0, 100, 1001)
        assert scale.update(returns) == 1 and scale.spread == pytest.approx(0.9)
        for _ in range(2000):
            last = scale.update(returns)
        assert last == pytest.approx(90, rel=1e-3)

    def test_the_actor_prefers_what_was_better_than_expected(self):
        logits = torch.zeros(1, 2, 3, requires_grad=True)
        actions, ones = torch.tensor([[0, 2]]), torch.ones(1, 2)
        behaviour.actor_loss(dist.mixed(logits), actions, torch.tensor([[1.0, -1.0]]), ones, 0.0).backward()
        assert logits.grad[0, 0, 0] < 0 < logits.grad[0, 1, 2]
        logits.grad = None
        behaviour.actor_loss(dist.mixed(logits), actions, torch.tensor([[1.0, -1.0]]), 0 * ones, 0.0).backward()
        assert (logits.grad == 0).all()

    def test_the_actor_is_paid_for_uncertainty(self):
        logits, ones = torch.tensor([[[1.0, 0.0, -1.0], [0.0, 2.0, 0.0]]], requires_grad=True), torch.ones(1, 2)
        before = dist.entropy(dist.mixed(logits)).mean()
        loss = behaviour.actor_loss(dist.mixed(logits), torch.tensor([[0, 2]]), 0 * ones, ones, 0.1)
        assert loss.item() == pytest.approx(-0.1 * before.item())
        loss.backward()
        assert dist.entropy(dist.mixed(logits - logits.grad)).mean() > before > 0

    def test_an_untrained_critic_says_exactly_nothing(self):
        critic = behaviour.Critic(TINY)
        layers.initialise(critic, rng())
        assert (dist.mean_of_bins(critic(torch.randn(7, TINY.latent, generator=rng())), dist.bins()) == 0).all()


def normed(x: np.ndarray, module: torch.nn.LayerNorm) -> np.ndarray:
    spread = np.sqrt(x.var(-1, keepdims=True) + sizes.EPSILON)
    return (x - x.mean(-1, keepdims=True)) / spread * module.weight.detach().numpy() + module.bias.detach().numpy()


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


class TestRSSM:
    def rssm(self) -> RSSM:
        made = RSSM(TINY, ACTIONS, 7)
        layers.initialise(made, rng())
        with torch.no_grad():
            made.h0 += torch.linspace(-1, 1, TINY.deter)
        return made

    def test_a_step_in_numpy(self):
        rssm = self.rssm()
        h, z, a = torch.randn(2, 6, generator=rng(1)), torch.randn(2, 6, generator=rng(2)), torch.eye(3)[:2]
        weights = {name: each.detach().numpy().astype(np.float64) for name, each in rssm.named_parameters()}
        x = normed(np.concatenate([z, a], -1) @ weights["before.linear.weight"].T, rssm.before.norm)
        x = x * sigmoid(x)
        gates = normed(np.concatenate([x, h], -1) @ weights["gru.linear.weight"].T, rssm.gru.norm)
        reset, candidate, update = np.split(gates, 3, -1)
        update = sigmoid(update - 1)
        wanted = update * np.tanh(sigmoid(reset) * candidate) + (1 - update) * h.numpy()
        assert np.allclose(rssm.step(h, z, a).detach(), wanted, atol=1e-5)

    def test_an_episode_begins_with_nothing_of_the_one_before(self):
        rssm = self.rssm()
        embedded, actions = torch.randn(4, 2, 7, generator=rng(1)), torch.randn(4, 2, ACTIONS, generator=rng(2))
        is_first, uniform = torch.zeros(4, 2, dtype=torch.bool), torch.rand(4, 2, 2, 3, generator=rng(3))
        is_first[2, 0] = True
        before = rssm.observe(embedded, actions, is_first, uniform)
        embedded[:2, 0], actions[:3, 0] = 5.0, 7.0
        after = rssm.observe(embedded, actions, is_first, uniform)
        assert torch.equal(before.latent[2:, 0], after.latent[2:, 0]) and torch.equal(before.z[:, 1], after.z[:, 1])
        assert not torch.equal(before.h[1, 0], after.h[1, 0])
        assert torch.equal(before.h[2, 0], before.h[0, 0]), "both after a reset"
        h0, z0 = rssm.initial(torch.zeros(1))
        assert torch.allclose(h0[0], rssm.h0.tanh()) and z0.sum() == TINY.stoch and set(z0.unique().tolist()) == {0, 1}

    def test_a_window_in_the_middle_of_an_episode_begins_anew(self):
        rssm, uniform = self.rssm(), torch.rand(3, 2, 2, 3, generator=rng(3))
        embedded, actions = torch.randn(3, 2, 7, generator=rng(1)), torch.randn(3, 2, ACTIONS, generator=rng(2))
        none = torch.zeros(3, 2, dtype=torch.bool)
        first = none.clone()
        first[0] = True
        one, other = (rssm.observe(embedded, actions, flags, uniform).latent for flags in (none, first))
        assert torch.equal(one, other)

    def test_a_window_goes_on_from_what_was_remembered_before_it(self):
        rssm, uniform = self.rssm(), torch.rand(6, 2, 2, 3, generator=rng(3))
        embedded, actions = torch.randn(6, 2, 7, generator=rng(1)), torch.randn(6, 2, ACTIONS, generator=rng(2))
        none = torch.zeros(6, 2, dtype=torch.bool)
        whole = rssm.observe(embedded, actions, none, uniform)
        known = torch.tensor([True, False])
        context = Context(known, whole.h[2].detach(), whole.z[2].detach())
        rest = embedded[3:], actions[3:], none[3:], uniform[3:]
        found, anew = rssm.observe(*rest, context), rssm.observe(*rest)
        assert torch.equal(found.latent[:, 0], whole.latent[3:, 0]) and torch.equal(
            found.latent[:, 1], anew.latent[:, 1]
        )
        first = none[3:].clone()
        first[0] = True
        again = rssm.observe(rest[0], rest[1], first, rest[3], context)
        assert torch.equal(again.latent, anew.latent), "where an episode begins nothing before it counts"
        h, z = whole.memory
        assert z.dtype == torch.uint8 and torch.equal(dist.one_hot(z.long(), 3).flatten(-2), whole.z.detach().round())
        assert torch.equal(h, whole.h)


class TestWorldModel:
    def model(self, **how) -> WorldModel:
        made = WorldModel(TINY, ACTIONS, **how)
        layers.initialise(made, rng())
        return made

    def test_packed_and_unpacked_frames_give_identical_losses_and_gradients(self):
        given, found = batch(), []
        for obs, how in (
            (given["obs"], {}),
            (given["obs"], {"unpack_impl": "numba"}),
            (packing.unpack(given["obs"]), {}),
        ):
            model = self.model(**how)
            losses, _ = model.losses(given | {"obs": obs}, torch.rand(6, 4, 2, 3, generator=rng()))
            losses.total.backward()
            found.append([losses.total.item(), *(each.grad.clone() for each in model.parameters())])
        for other in found[1:]:
            assert found[0][0] == other[0]
            assert all(map(torch.equal, found[0][1:], other[1:]))

    def test_untrained_it_expects_no_reward(self):
        latents = torch.randn(9, TINY.latent, generator=rng())
        assert (self.model().reward(latents) == 0).all()

    def test_rare_shades_weigh_more(self):
        """Of 5,760 pixels 58 are a ball: each shade that is there weighs the same in all, up to the limit."""
        pixels = torch.full((1, 1, 1, 72, 80), -0.5)
        pixels.flatten()[:58] = 0.5
        weights = shade_weights(pixels, 1000.0).flatten()
        assert torch.allclose(weights[:58].sum(), torch.tensor(1440.0)) and torch.allclose(
            weights[58:].sum(), weights[:58].sum()
        )
        assert shade_weights(pixels, 10.0).max() == 10 and torch.equal(shade_weights(pixels, 0.0), torch.ones(()))

    def test_free_nats(self):
        small = torch.full((2, 2), 0.3, requires_grad=True)
        world_model.beyond(1.0, small).backward()
        assert (small.grad == 0).all() and world_model.beyond(1.0, small) == 1
        assert world_model.beyond(0.1, small) == small.mean()
        large = torch.tensor([[3.0, 0.5]], requires_grad=True)
        assert world_model.beyond(1.0, large) == 2
        world_model.beyond(1.0, large).backward()
        assert large.grad.tolist() == [[0.5, 0]]

    def test_fewer_free_nats_teach_the_prior(self):
        uniform = torch.rand(6, 4, 2, 3, generator=rng())
        for free_nats, learns in ((1000.0, False), (0.0, True)):
            model = self.model(free_nats=free_nats)
            model.losses(batch(), uniform)[0].dynamics.backward()
            prior = model.rssm.prior_out.weight.grad
            assert (prior is not None and bool(prior.any())) == learns

    def test_the_two_kl_losses_are_one_number_with_two_gradients(self):
        """Of one step: later ones reach the posterior through what is remembered, too."""
        learned = {}
        for name in ("dynamics", "representation"):
            model = self.model(free_nats=0.0)
            losses, _ = model.losses(batch(steps=1), torch.rand(1, 4, 2, 3, generator=rng()))
            getattr(losses, name).backward()
            parts = {"prior": model.rssm.prior_out, "posterior": model.rssm.post_out, "encoder": model.encoder}
            learned[name] = {
                part
                for part, module in parts.items()
                if any(each.grad is not None and each.grad.any() for each in module.parameters())
            }
        assert losses.dynamics == losses.representation > 0
        assert learned == {"dynamics": {"prior"}, "representation": {"posterior", "encoder"}}

    def test_the_prior_learns_faster_than_the_posterior(self):
        losses = world_model.Losses(*map(torch.tensor, (1.0, 2.0, 4.0, 8.0, 16.0)))
        assert losses.total.item() == pytest.approx(1 + 2 + 4 + 1.0 * 8 + 0.1 * 16)

    @pytest.mark.parametrize("size", [name for name in sizes.SIZES if name not in ("12m", "torch")])
    def test_every_size_draws_whole_frames(self, size):
        made = sizes.SIZES[size]
        model = WorldModel(made, ACTIONS)
        assert model.decoder(torch.zeros(2, made.latent)).shape == (2, 1, 72, 80)
        assert model.encoder(torch.zeros(2, 1, 72, 80)).shape == (2, model.encoder.features)

    def test_patches_are_a_convolution(self):
        patches, convolution = layers._Patches(2, 3), torch.nn.Conv2d(2, 3, 4, 4, bias=False)
        with torch.no_grad():
            convolution.weight.copy_(patches.linear.weight.view(3, 2, 4, 4))
        x = torch.randn(2, 2, 8, 12, generator=rng())
        assert torch.allclose(patches(x), convolution(x), atol=1e-5)
        back, deconvolution = layers._FromPatches(3, 2), torch.nn.ConvTranspose2d(3, 2, 4, 4, bias=False)
        with torch.no_grad():
            deconvolution.weight.copy_(back.linear.weight.T.reshape(3, 2, 4, 4))
            back.linear.bias.zero_()
        y = torch.randn(2, 3, 2, 3, generator=rng())
        assert torch.allclose(back(y), deconvolution(y), atol=1e-5)

    def test_places_are_those_of_what_is_active(self):
        """One bright point in each of two channels, the second in the corner."""
        find, pictures = places.Places(5, 9), torch.zeros(1, 2, 5, 9)
        pictures[0, 0, 2, 4], pictures[0, 1, 4, 0] = 10.0, 10.0
        found = find(pictures)[0].detach()
        far = places.SPREAD
        assert found.tolist() == pytest.approx([0, 0, far, -far], abs=1e-4)
        moved = find(pictures.roll(1, -1))[0].detach()
        assert moved[1] == pytest.approx(2 * far / 8, abs=1e-4), "one column of nine to the right"

    def test_a_placed_decoder_draws_each_cell_where_it_is(self):
        """Its cells are put together as they are cut: a decoder whose latent is nothing draws by coordinates alone."""
        decoder = places.PlacedDecoder(16, 24, 8, latent=4, units=6)
        layers.initialise(decoder, rng())
        drawn = decoder(torch.randn(3, 4, generator=rng(1)))
        assert drawn.shape == (3, 1, 16, 24)
        given, waves = decoder.of_latent(torch.randn(3, 4, generator=rng(1))), decoder.of_waves(decoder.waves)
        cell = decoder.norm(given[:, None] * waves + given[:, None])[:, 4]  # second row, second of three
        silu = torch.nn.functional.silu
        wanted = decoder.out(silu(decoder.norm_hidden(decoder.hidden(silu(cell)))))
        assert torch.allclose(drawn[:, 0, 8:, 8:16].flatten(1), wanted, atol=1e-6)

    def test_a_frame_that_does_not_divide_is_a_sentence(self):
        with pytest.raises(ValueError, match="divisible by 8.*got 70 x 80: use 64 x 80"):
            WorldModel(TINY, ACTIONS, height=70)


def test_flat_adam_is_torchs():
    one, two = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    two.load_state_dict(one.state_dict())
    mine, its = FlatAdam(one), torch.optim.Adam(two.parameters(), 0.01, eps=1e-5)
    x = torch.randn(4, 3, generator=rng())
    for _ in range(5):
        one(x).square().sum().backward()
        mine.step(0.01, 0.5, mine.norm())
        its.zero_grad()
        two(x).square().sum().backward()
        torch.nn.utils.clip_grad_norm_(two.parameters(), 0.5)
        its.step()
    assert torch.allclose(one.weight, two.weight, atol=1e-6) and torch.allclose(one.bias, two.bias, atol=1e-6)
    assert one.weight.data_ptr() == mine.weights.data_ptr()


class TestAgent:
    def dreamer(self, seed: int = 0, **how) -> Dreamer:
        settings = {"size": "pico", "horizon": 5, "starts": 16, "learning_rate": 1e-3, **how}
        return Dreamer(DreamerSettings(**settings), ACTIONS, seed)

    def test_overfits_one_batch(self):
        dreamer, given = self.dreamer(), batch()
        losses = [dreamer.learn(given) for _ in range(40)]
        assert losses[8]["loss_world_model"] < losses[0]["loss_world_model"]
        assert losses[-1]["loss_image"] < 0.5 * losses[0]["loss_image"]
        assert losses[-1]["loss_reward"] < losses[0]["loss_reward"] == pytest.approx(math.log(255), rel=1e-3)
        assert all(math.isfinite(number) for row in losses for number in row.values())
        assert losses[0]["entropy"] <= math.log(ACTIONS) and losses[0]["return_scale"] == 1

    def test_the_same_seed_is_the_same_dreamer_and_global_chance_does_not_matter(self):
        found = []
        for seed in (0, 0, 1):
            torch.manual_seed(100 + len(found))
            dreamer = self.dreamer(seed)
            for _ in range(3):
                dreamer.learn(batch())
            found.append(torch.cat([each.weights for each in dreamer.optimisers.values()]))
        assert torch.equal(found[0], found[1]) and not torch.equal(found[0], found[2])

    def test_the_critic_learns_from_what_was_played(self):
        """Its weights after one update depend on the weight of that loss; the model's and the actor's do not."""
        given = batch()
        with_it, without = (
            Dreamer(DreamerSettings(size="pico", starts=8, replay_value=weight), ACTIONS, 0) for weight in (0.3, 0.0)
        )
        for one in (with_it, without):
            one.learn(given)
        same = [torch.equal(with_it.optimisers[k].weights, without.optimisers[k].weights) for k in with_it.optimisers]
        assert dict(zip(with_it.optimisers, same, strict=True)) == {"model": True, "actor": True, "critic": False}

    def test_only_frames_actions_rewards_and_ends_are_read(self):
        """Whatever else a batch has may be anything: it changes no weight."""
        one, other, given = self.dreamer(), self.dreamer(), batch()
        shuffled = given | {
            "episode_id": torch.randint(0, 99, (6, 4), generator=rng(5), dtype=torch.int32),
            "state": torch.randn(6, 4, generator=rng(6)),
        }
        for _ in range(2):
            one.learn(given)
            other.learn(shuffled)
        for name, mine in one.optimisers.items():
            assert torch.equal(mine.weights, other.optimisers[name].weights)
        changed = given | {"reward": given["reward"].flip(0)}
        other.learn(changed)
        one.learn(given)
        assert not torch.equal(one.optimisers["model"].weights, other.optimisers["model"].weights)

    def test_what_was_remembered_before_a_batch_is_read(self):
        """Half as a first step of an episode: there, and where nothing is known, it does not matter."""
        size, given = sizes.SIZES["pico"], batch()
        given["is_first"][0] = torch.tensor([False, False, True, True])
        kept = {"h": torch.randn(4, size.deter, generator=rng(5)).half(), "action_before": torch.tensor([0, 1, 2, 0])}
        kept["z"] = torch.randint(0, size.classes, (4, size.stoch), generator=rng(6), dtype=torch.uint8)
        kept["z"][1] = kept["z"][3] = UNKNOWN
        uniform = torch.rand(6, 4, size.stoch, size.classes, generator=rng(7))
        model = self.dreamer().model
        (_, with_it), (_, without) = (model.losses(rows, uniform) for rows in (given | kept, given))
        assert [torch.equal(with_it.h[0, k], without.h[0, k]) for k in range(4)] == [False, True, True, True]
        context = model.context(given | kept)
        assert context is not None and context.z.sum(-1).tolist() == [size.stoch] * 4
        h = model.rssm.step(context.h, context.z, dist.one_hot(kept["action_before"], ACTIONS))
        assert torch.allclose(with_it.h[0, 0], h[0])

    def test_a_player_tells_the_ring_what_it_remembers(self):
        dreamer = self.dreamer()
        player = Player(dreamer, 4, rng(3))
        player(batch()["obs"][0], torch.ones(4, dtype=torch.bool))
        h, z = player.memory()
        assert torch.equal(h, player.h) and torch.equal(dist.one_hot(z.long(), 16).flatten(-2), player.z.round())

    def test_what_is_not_finite_is_skipped(self):
        dreamer, given = self.dreamer(), batch()
        dreamer.learn(given)
        before = {name: row.clone() for name, row in dreamer.state().items() if name != "chance"}
        assert dreamer.learn(given | {"reward": given["reward"] * math.nan}) == {} and dreamer.skipped == 1
        after = dreamer.state()
        assert all(torch.equal(row, after[name]) for name, row in before.items())
        assert dreamer.learn(given)

    def test_the_state_continues_exactly(self):
        one = self.dreamer()
        one.learn(batch())
        other = self.dreamer(seed=8)
        other.restore(one.state())
        assert one.learn(batch()) == other.learn(batch())
        with pytest.raises(ValueError, match="choose the file's size and drill"):
            Dreamer(DreamerSettings(size="nano"), ACTIONS, 0).restore(one.state())

    def test_a_player_takes_over_what_fits_alone(self):
        """Of another shape, it ended the run at its first step, at each start; of another type too."""
        dreamer = self.dreamer()
        player, other = (Player(dreamer, n, rng(3)) for n in (4, 5))
        for name in ("h", "z", "action"):
            with pytest.raises(ValueError, match=f"the player's {name} must be of shape"):
                player.restore(player.state() | {name: other.state()[name]})
        player.restore(player.state() | {"h": torch.ones_like(player.h, dtype=torch.float64)})
        player(batch()["obs"][0], torch.zeros(4, dtype=torch.bool))
        assert player.h.dtype == torch.float32

    def test_a_player_remembers_and_forgets(self):
        dreamer, frames = self.dreamer(), batch()["obs"]
        players = [Player(dreamer, 4, rng(3)) for _ in range(2)]
        none = torch.zeros(4, dtype=torch.bool)
        for t in range(4):
            for player in players:
                player(frames[t], none)
        first = torch.tensor([True, False, False, False])
        players[1].h[0] = 9.0  # forgotten
        a, b = (player(frames[4], first) for player in players)
        assert torch.equal(a, b) and torch.equal(players[0].h, players[1].h)
        state, other = players[0].state(), Player(dreamer, 4, rng(9))
        other.restore({name: row.clone() for name, row in state.items()})
        assert torch.equal(other(frames[5], none), players[0](frames[5], none))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"ring": 384, "sequence": 4, "games": 16, "commit_stride": 4, "margin": 8},
            "ring must hold a sequence of 4 steps.*400 frames of 16 games, got 384",
        ),
        (
            {"ring": 464, "sequence": 4, "games": 16, "context": "stored"},
            "ring must hold a sequence of 4 steps.*480 frames of 16 games, got 464",
        ),
        ({"size": "giant"}, "size must be one of pico, spots, nano, 1m, torch, 12m"),
        ({"games": 12}, "multiple of 8"),
    ],
)
def test_wrong_settings_are_a_sentence(given, sentence):
    with pytest.raises(ConfigError, match=sentence):
        DreamerSettings(**given)
