"""Many games side by side, their Gymnasium and PettingZoo faces, snapshots, traces, replays and checks. No learning."""
