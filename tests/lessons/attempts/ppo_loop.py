import numpy as np
import torch

from dshq_widget.lessons.checks.ppo_loop import NAMES, following, rollout
from tests.lessons.attempts import Attempts


def worth(look=lambda over, terminated, truncated: over, keep=lambda terminated, truncated: ~terminated, end=None):
    """A next value with one slip: whose `final_obs` is looked at, which values count, what is given."""

    def next_value(agent, after, terminated, truncated, final_obs):
        last, chosen = after.copy(), look(terminated | truncated, terminated, truncated)
        if chosen.any():
            last[chosen] = np.stack(final_obs[chosen])
        value = agent.value(last) * keep(terminated, truncated)
        return value if end is None else end(value)

    return next_value


def unasked(agent, after, terminated, truncated, final_obs):
    last = after.copy()
    for game in range(len(after)):
        last[game] = after[game] if final_obs[game] is None else final_obs[game]
    return agent.value(last) * ~terminated


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


def written(change=lambda row: row, later=following, move=True, give=lambda arrays, obs: (arrays, obs), less=0):
    """A rollout with one slip: what is written down of a decision, what follows, whether it goes on, what is given."""

    def play(agent, envs, obs, length):
        rows = []
        for _ in range(length - less):
            action, log_prob, value = agent.choose(obs)
            after, reward, terminated, truncated, infos = envs.step(action)
            found = later(agent, after, terminated, truncated, infos.get("final_obs"))
            over = terminated | truncated
            rows.append(change([obs, action, log_prob, value, reward, found, over, after, terminated]))
            obs = after if move else obs
        return give([np.stack(part) for part in list(zip(*rows, strict=True))[: len(NAMES)]], obs)

    return {"play": play}


def row_with(place, source):
    """What is written down, with another entry at one place."""
    return lambda row: [*row[:place], row[source], *row[place + 1 :]]


def one_array(agent, envs, obs, length):
    """Arrays that are filled, no lists."""
    kept = None
    for t in range(length):
        row, obs = rollout(agent, envs, obs, 1)
        kept = [np.zeros((length, *part.shape[1:]), part.dtype) for part in row] if kept is None else kept
        for whole, part in zip(kept, row, strict=True):
            whole[t] = part[0]
    return tuple(kept), obs


def steps(zero=True, hold=0.5, step=True, shuffle="each", size=None, epochs_of=lambda epochs: epochs, late=False):
    """An update with one slip."""

    def update(net, optimiser, rows, loss_of, epochs, batch, chance):
        order = torch.randperm(len(rows[0]), generator=chance)
        for _ in range(epochs_of(epochs)):
            if shuffle == "each":
                order = torch.randperm(len(rows[0]), generator=chance)
            elif shuffle == "drawn":
                order = torch.randint(len(rows[0]), (len(rows[0]),), generator=chance)
            elif shuffle == "never":
                order = torch.arange(len(rows[0]))
            for part in order.split(size or batch):
                if zero:
                    optimiser.zero_grad()
                loss = loss_of(net, *(row[part] for row in rows))
                if late:
                    optimiser.step()
                loss.backward()
                if hold:
                    torch.nn.utils.clip_grad_norm_(net.parameters(), hold)
                if step and not late:
                    optimiser.step()

    return {"update": update}


def all_at_once(net, optimiser, rows, loss_of, epochs, batch, chance):
    loss_of(net, *rows).backward()
    optimiser.step()


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


ATTEMPTS = {
    "next value": Attempts(
        {
            name: {"next_value": answer}
            for name, answer in {
                "as it is found": lambda agent, after, *rest: agent.value(after),
                "only final_obs": worth(keep=lambda terminated, truncated: 1),
                "only the end": worth(look=lambda over, *which: over & False),
                "truncated is worth nothing": worth(keep=lambda terminated, truncated: ~(terminated | truncated)),
                "the wrong way round": worth(keep=lambda terminated, truncated: ~truncated),
                "the end alone counts": worth(keep=lambda terminated, truncated: terminated),
                "only what terminated": worth(look=lambda over, terminated, truncated: terminated),
                "always looks": unasked,
                "a mean": worth(end=np.mean),
                "a column": worth(end=lambda value: value[:, None]),
                "discounted": worth(end=lambda value: 0.98 * value),
                "nothing is returned": worth(end=lambda value: None),
            }.items()
        },
        {
            "game by game": {"next_value": game_by_game},
            "where": {"next_value": chosen_by_where},
        },
    ),
    "rollout": Attempts(
        {
            "sees the same for ever": written(move=False),
            "three things": written(change=lambda row: [row[0], row[1], row[4]]),
            "after for before": written(change=row_with(0, 7)),
            "ends are only terminations": written(change=row_with(6, 8)),
            "value for next value": written(change=row_with(5, 3)),
            "value for log-probability": written(change=row_with(2, 3)),
            "another order": written(change=lambda row: [row[0], row[1], row[3], row[2], *row[4:]]),
            "next values of the next episode": written(later=lambda agent, after, *rest: agent.value(after)),
            "one decision short": written(less=1),
            "games first": written(give=lambda arrays, obs: ([np.swapaxes(part, 0, 1) for part in arrays], obs)),
            "only the arrays": written(give=lambda arrays, obs: arrays),
            "what was seen first": written(give=lambda arrays, obs: (arrays, arrays[0][-1])),
            "nothing is returned": written(give=lambda arrays, obs: None),
        },
        {
            "arrays that are filled": {"play": one_array},
            "a list": written(give=lambda arrays, obs: [arrays, obs]),
            "a tuple": written(give=lambda arrays, obs: (tuple(arrays), obs.copy())),
        },
    ),
    "update": Attempts(
        {
            "all at once": {"update": all_at_once},
            "slopes add up": steps(zero=False),
            "not held": steps(hold=None),
            "held to 5": steps(hold=5.0),
            "no step": steps(step=False),
            "step before slopes": steps(late=True),
            "never shuffled": steps(shuffle="never"),
            "shuffled once": steps(shuffle="once"),
            "drawn with replacement": steps(shuffle="drawn"),
            "one epoch": steps(epochs_of=lambda epochs: 1),
            "one epoch too many": steps(epochs_of=lambda epochs: epochs + 1),
            "no batches": steps(size=10_000),
            "a batch size written into it": steps(size=256),
            "smaller batches": steps(size=2),
        },
        {
            "by hand": {"update": by_hand},
            "a data loader": {"update": repeated},
        },
    ),
}
