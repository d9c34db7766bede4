"""PPO in one file on `make_vec`, in the manner of CleanRL's `ppo.py`: a drill is an environment like any other.

python docs/examples/ppo_on_make_vec.py approach --agent-steps 300000
"""

import argparse

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

from dshq_widget import make_vec


def layers(n_in: int, n_out: int, gain: float) -> nn.Sequential:
    """Two hidden layers of 64; `gain` is that of the last one's orthogonal weights."""
    sizes = [(n_in, 64, 2**0.5), (64, 64, 2**0.5), (64, n_out, gain)]
    parts: list[nn.Module] = []
    for wide, high, scale in sizes:
        parts += [nn.Linear(wide, high), nn.Tanh()]
        nn.init.orthogonal_(parts[-2].weight, scale)
        nn.init.zeros_(parts[-2].bias)
    return nn.Sequential(*parts[:-1])


def train(drill: str, agent_steps: int, seed: int = 0, num_envs: int = 64, length: int = 64) -> list[float]:
    """Returns the mean return of the episodes that ended in each rollout."""
    torch.manual_seed(seed)
    envs = make_vec(drill, num_envs, autoreset="same_step", seed=seed, practice=True, shaping=True)
    n_actions = envs.single_action_space.n
    actor = layers(envs.single_observation_space.shape[0], n_actions, 0.01)
    critic = layers(envs.single_observation_space.shape[0], 1, 1.0)
    parameters = [*actor.parameters(), *critic.parameters()]
    adam = torch.optim.Adam(parameters, lr=1e-3, eps=1e-5)

    def policy(obs: torch.Tensor, mask: torch.Tensor) -> Categorical:
        return Categorical(logits=actor(obs).masked_fill(~mask, -1e9))

    def allowed(infos: dict) -> torch.Tensor:
        mask = infos.get("action_mask", np.ones((num_envs, n_actions), np.int8))  # drills without a mask allow all
        return torch.from_numpy(mask).bool()

    seen, infos = envs.reset(seed=seed)
    obs, mask = torch.from_numpy(seen), allowed(infos)
    earned, history = np.zeros(num_envs), []
    for _ in range(agent_steps // (num_envs * length)):
        rollout = {name: [] for name in ("obs", "mask", "action", "log_prob", "value", "reward", "next_value", "over")}
        ended = []
        for _ in range(length):
            with torch.no_grad():
                chances, value = policy(obs, mask), critic(obs)[:, 0]
            action = chances.sample()
            after, reward, terminated, truncated, infos = envs.step(action.numpy())
            over = terminated | truncated
            last = after.copy()  # what each episode really came to, before the next one began
            for k in np.flatnonzero(over):
                last[k] = infos["final_obs"][k]
            with torch.no_grad():
                following = critic(torch.from_numpy(last))[:, 0] * torch.from_numpy(~terminated)
            step = (obs, mask, action, chances.log_prob(action), value, torch.from_numpy(reward), following, over)
            for name, part in zip(rollout, step, strict=True):
                rollout[name].append(torch.as_tensor(part))
            earned += reward
            ended += earned[over].tolist()
            earned[over] = 0.0
            obs, mask = torch.from_numpy(after), allowed(infos)
        if ended:
            history.append(float(np.mean(ended)))
        learn({name: torch.stack(parts) for name, parts in rollout.items()}, policy, critic, adam, parameters)
    return history


def learn(rollout, policy, critic, adam, parameters, gamma=0.99, gae_lambda=0.95, clip=0.2, epochs=4, minibatches=4):
    """One update; every tensor of the rollout is `[length, num_envs, ...]`."""
    advantage = torch.zeros_like(rollout["value"])
    carry = torch.zeros_like(advantage[0])
    for t in reversed(range(len(advantage))):
        delta = rollout["reward"][t] + gamma * rollout["next_value"][t] - rollout["value"][t]
        carry = delta + gamma * gae_lambda * carry * ~rollout["over"][t]
        advantage[t] = carry
    rows = {name: part.flatten(0, 1) for name, part in rollout.items()}
    returns, advantage = (advantage + rollout["value"]).flatten(), advantage.flatten()
    for _ in range(epochs):
        for part in torch.randperm(len(returns)).chunk(minibatches):
            chances = policy(rows["obs"][part], rows["mask"][part])
            ratio = (chances.log_prob(rows["action"][part]) - rows["log_prob"][part]).exp()
            gain = (advantage[part] - advantage[part].mean()) / (advantage[part].std() + 1e-8)
            policy_loss = -torch.min(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain).mean()
            value_loss = (critic(rows["obs"][part])[:, 0] - returns[part]).square().mean()
            loss = policy_loss + 0.5 * value_loss - 0.005 * chances.entropy().mean()
            adam.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, 0.5)
            adam.step()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("drill", nargs="?", default="approach")
    parser.add_argument("--agent-steps", type=int, default=300_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    for update, found in enumerate(train(options.drill, options.agent_steps, options.seed), 1):
        print(f"rollout {update}: mean return {found:.2f}")
