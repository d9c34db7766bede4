# %%
def next_value(agent, after, terminated, truncated, final_obs):
    """The value of what really follows, `[games]`. `after` is what `step` returned, `[games, numbers]`."""
    last = after.copy()
    over = terminated | truncated
    if over.any():
        last[over] = np.stack(final_obs[over])
    return agent.value(last) * ~terminated
# %%
def play(agent, envs, obs, length):
    """One rollout: a list of seven arrays `[length, games, ...]`, and the observations after it."""
    rollout = []
    for _ in range(length):
        action, log_prob, value = agent.choose(obs)
        after, reward, terminated, truncated, infos = envs.step(action)
        following = next_value(agent, after, terminated, truncated, infos.get("final_obs"))
        rollout.append((obs, action, log_prob, value, reward, following, terminated | truncated))
        obs = after
    return [np.stack(part) for part in zip(*rollout)], obs
# %%
def update(net, optimiser, rows, loss_of, epochs, batch, chance):
    """Learn from a rollout: `epochs` passes over its samples, a step for each `batch` of them."""
    for _ in range(epochs):
        for part in torch.randperm(len(rows[0]), generator=chance).split(batch):
            optimiser.zero_grad()
            loss_of(net, *(row[part] for row in rows)).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            optimiser.step()
