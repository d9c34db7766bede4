from tests.lessons.attempts import Attempts

WARMTH = "1.0 - abs(self.inside - 20.0) / 5"


def one(rewards):
    """Answers that are one expression each: what `reward` returns."""
    return {name: (expression,) for name, expression in rewards.items()}


ATTEMPTS = {
    "reward": Attempts(
        one(
            {
                "nothing": "0.0",
                "None": "None",
                "no number": "float('nan')",
                "the warmer the better": "self.inside - 20.0 - 0.1 * logs",
                "the colder the better": "20.0 - self.inside - 0.1 * logs",
                "best at 25": "-abs(self.inside - 25.0) - 0.1 * logs",
                "best at 17": "-abs(self.inside - 17.0) - 0.1 * logs",
                "the sign forgotten": "abs(self.inside - 20.0) - 0.1 * logs",
                "wood is free": WARMTH,
                "wood is paid": WARMTH + " + 0.1 * logs",
                "wood is too dear": WARMTH + " - 10.0 * logs",
                "good from 10 to 30": "1.0 * (10 < self.inside < 30) - 0.1 * logs",
                "two summits": "max(1 - abs(self.inside - 20) / 5, 0.5 - abs(self.inside - 14) / 5) - logs / 9",
                "the house is changed": "1.0 - abs(setattr(self, 'inside', 20.0) or 0.0) - 0.1 * logs",
            }
        ),
        one(
            {
                "a bell": "2.718 ** (-((self.inside - 20.0) / 8) ** 2) - 0.01 * logs",
                "a margin of a degree, and the second log dearer": (
                    "-max(0.0, abs(self.inside - 20.0) - 1.0) - 0.1 * logs ** 2"
                ),
                "squares": "-((self.inside - 20.0) ** 2) - logs",
            }
        ),
    )
}
