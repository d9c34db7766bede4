"""Who decides, the compiled loops that play games, returns, rollouts, frames."""
