"""Playing games: players, compiled loops, returns, rollouts, frames."""
