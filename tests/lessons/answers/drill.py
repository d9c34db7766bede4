# %%
ROCK = 0.35


class Rocky(Comet):
    """Catch stars, and keep off the rock."""

    name = "rocky"
    rewards = {"star": 1.0, "hit": -0.1}

    @rule
    def hit(s, i, side):
        """Whether the ship is on the rock."""
        return 1.0 if length(s.x[i], s.y[i]) < ROCK else 0.0

    @rule
    def scene(s, i):
        box(0.0, 0.0, 1.56, 1.16, 1.0, 0.0, 0.08, 0)
        circle(0.0, 0.0, ROCK, 4)
        circle(s.star_x[i], s.star_y[i], 0.08, 1)
        line(s.x[i], s.y[i], s.x[i] + 8.0 * s.vx[i], s.y[i] + 8.0 * s.vy[i], 0.03, 3)
        circle(s.x[i], s.y[i], 0.1, 2)
