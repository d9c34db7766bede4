"""Many games in parallel: Gymnasium and PettingZoo interfaces, snapshots, traces, replays, checks. No learning."""
