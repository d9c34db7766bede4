import numpy as np
import torch

from dshq_widget.lessons.checks.ppo_loop import rollout
from tests.lessons.attempts import exercise

NEXT_VALUE = {
    "as it is found": ("agent.value(last) * ~terminated", "agent.value(after)"),
    "only final_obs": (" * ~terminated", ""),
    "truncated is worth nothing": ("~terminated", "~over"),
    "always looks": (
        *("if over.any():", "for game in range(len(after)):", "last[over]", "last[game]"),
        *("np.stack(final_obs[over])", "after[game] if final_obs[game] is None else final_obs[game]"),
    ),
    "a column": ("agent.value(last) * ~terminated", "(agent.value(last) * ~terminated)[:, None]"),
}
NEXT = 'next_value(agent, after, terminated, truncated, infos.get("final_obs"))'
ROLLOUT = {
    "sees the same for ever": ("        obs = after\n", ""),
    "after for before": ("append((obs,", "append((after,"),
    "another order": ("log_prob, value, reward,", "value, log_prob, reward,"),
    "next values of the next episode": (NEXT, "agent.value(after)"),
    "what was seen first": ("], obs", "], rollout[-1][0]"),
}
ARRAYS = "[np.stack(part) for part in zip(*rollout)], obs"
SHUFFLED = "torch.randperm(len(rows[0]), generator=chance)"
UPDATE = {
    "slopes add up": ("            optimiser.zero_grad()\n", ""),
    "not held": ("            nn.utils.clip_grad_norm_(net.parameters(), 0.5)\n", ""),
    "each held by itself": ("clip_grad_norm_", "clip_grad_value_"),
    "each part held by itself": (
        "nn.utils.clip_grad_norm_(net.parameters(), 0.5)",
        "[nn.utils.clip_grad_norm_([part], 0.5) for part in net.parameters()]",
    ),
    "step before slopes": (
        "            optimiser.step()",
        "",
        ".zero_grad()",
        ".zero_grad()\n            optimiser.step()",
    ),
    "shuffled once": (
        *("    for _ in range(epochs):\n", f"    order = {SHUFFLED}\n    for _ in range(epochs):\n"),
        *(f"in {SHUFFLED}", "in order"),
    ),
    "no batches": (".split(batch)", ".split(10_000)"),
}


def game_by_game(agent, after, terminated, truncated, final_obs):
    values = []
    for game in range(len(after)):
        over = terminated[game] or truncated[game]
        seen = final_obs[game] if over else after[game]
        values.append(0.0 if terminated[game] else float(agent.value(seen[None])[0]))
    return values


def chosen_by_where(agent, after, terminated, truncated, final_obs):
    last = (
        after if final_obs is None else np.stack([b if a is None else a for a, b in zip(final_obs, after, strict=True)])
    )
    return np.where(terminated, 0, agent.value(last))


def one_array(agent, envs, obs, length):
    """Arrays that are filled, no lists."""
    kept = None
    for t in range(length):
        row, obs = rollout(agent, envs, obs, 1)
        kept = [np.zeros((length, *part.shape[1:]), part.dtype) for part in row] if kept is None else kept
        for whole, part in zip(kept, row, strict=True):
            whole[t] = part[0]
    return tuple(kept), obs


def by_hand(net, optimiser, rows, loss_of, epochs, batch, chance):
    """Slopes set to None, lines counted by hand, the length held by hand."""
    for _ in range(epochs):
        order = torch.randperm(len(rows[0]), generator=chance)
        for start in range(0, len(order), batch):
            for weights in net.parameters():
                weights.grad = None
            loss_of(net, *[row[order[start : start + batch]] for row in rows]).backward()
            length = sum(float(weights.grad.square().sum()) for weights in net.parameters()) ** 0.5
            for weights in net.parameters():
                weights.grad *= min(1.0, 0.5 / length)
            optimiser.step()


def repeated(net, optimiser, rows, loss_of, epochs, batch, chance):
    data = torch.utils.data.TensorDataset(*rows)
    for part in [part for _ in range(epochs) for part in torch.utils.data.DataLoader(data, batch, shuffle=True)]:
        loss = loss_of(net, *part)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimiser.step()


RIGHT_ROLLOUT = {
    "arrays that are filled": one_array,
    "a list": (ARRAYS, f"[{ARRAYS}]"),
    "a tuple": ("return [", "return tuple([", "], obs", "]), obs.copy()"),
}
RIGHT_UPDATE = {"by hand": by_hand, "a data loader": repeated}
RIGHT_VALUE = {"game by game": game_by_game, "where": chosen_by_where}
ATTEMPTS = {
    "next value": exercise("ppo_loop", 0, "next_value", NEXT_VALUE, RIGHT_VALUE),
    "rollout": exercise("ppo_loop", 1, "play", ROLLOUT, RIGHT_ROLLOUT),
    "update": exercise("ppo_loop", 2, "update", UPDATE, RIGHT_UPDATE, torch=torch, nn=torch.nn),
}
