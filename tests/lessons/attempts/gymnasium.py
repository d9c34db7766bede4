from tests.lessons.attempts import Attempts, one

ATTEMPTS = {
    "reward": Attempts(
        one(
            {
                "None": "None",
                "best at 17": "-abs(self.inside - 17.0) - 0.1 * logs",
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
