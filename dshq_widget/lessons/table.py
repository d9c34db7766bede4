"""The lessons in their order: what each is about, and which panels its widgets show."""

from __future__ import annotations

import dataclasses

WATCH = ("transport", "training", "status", "headline", "charts")


@dataclasses.dataclass(frozen=True)
class Lesson:
    """One notebook of `notebooks/`."""

    number: str
    """Its place in the order, two digits: what its files begin with."""
    name: str
    """What `DrillWidget(lesson=name)` and `check(name, ...)` take."""
    file: str
    """Name of its files behind the number."""
    title: str
    idea: str
    """The one thing to take away."""
    controls: tuple[str, ...]
    """Panels (protocol.PANELS) that `DrillWidget(lesson=name)` shows."""
    checks: str = ""
    """Module of its checks, "" for the one of its name in `lessons/checks`."""

    @property
    def stem(self) -> str:
        """Name of its files without their ending."""
        return f"{self.number}_{self.file}"

    @property
    def module(self) -> str:
        """Name of the modules with its answers and attempts."""
        return self.name.replace("-", "_")

    @property
    def checked_by(self) -> str:
        """The module with its checks."""
        return self.checks or f"dshq_widget.lessons.checks.{self.module}"


LESSONS: dict[str, Lesson] = {
    row.name: row
    for row in (
        Lesson(
            "01",
            "watch",
            "watch_it_learn",
            "Watch it learn",
            "A policy starts at random and is changed, many times, towards what turned out better than expected.",
            WATCH,
        ),
        Lesson(
            "02",
            "replay",
            "play_and_poke",
            "Play and poke",
            "A match is its seed and its actions: the same seed and actions give the same match, to the bit.",
            ("transport", "mind", "log"),
        ),
        Lesson(
            "03",
            "bandit",
            "a_bandit",
            "A bandit",
            "To find the best action, you must sometimes try others; regret says what that costs.",
            WATCH,
        ),
        Lesson(
            "04",
            "values",
            "values_on_a_maze",
            "Values on a maze",
            "A value is what is still to come; each single step can make it better.",
            WATCH,
        ),
        Lesson(
            "05",
            "network",
            "what_a_network_is",
            "What a network is",
            "A network is a formula with numbers to set; the slope of its error says which way to turn each of them.",
            WATCH,
        ),
        Lesson(
            "06",
            "policy-gradient",
            "the_policy_gradient",
            "The policy gradient",
            "Actions and their rewards say in which direction to change; a baseline takes most of the luck out.",
            WATCH,
        ),
        Lesson(
            "07",
            "ppo",
            "ppo_the_loss",
            "PPO: the loss",
            "Advantages say what was better than expected; a clipped ratio keeps each step small.",
            (*WATCH, "hyper"),
        ),
        Lesson(
            "08",
            "ppo-loop",
            "ppo_the_loop",
            "PPO: the loop",
            "Play a rollout with the newest policy, learn from it a few times over, throw it away.",
            (*WATCH, "hyper"),
        ),
        Lesson(
            "09",
            "shaping",
            "rewards_and_shaping",
            "Rewards and shaping",
            "A policy maximises what you pay for, which may not be what you want.",
            (*WATCH, "rewards"),
        ),
        Lesson(
            "10",
            "self-play",
            "self_play_and_elo",
            "Self-play and Elo",
            "A policy that learns against itself needs a fixed measure: pinned opponents.",
            ("transport", "ghost", "training", "status", "headline", "league"),
        ),
        Lesson(
            "11",
            "experiment",
            "an_honest_experiment",
            "An honest experiment",
            "One run is an anecdote: seeds, intervals and one change at a time make it a finding.",
            (*WATCH, "hyper"),
        ),
        Lesson(
            "12",
            "exploration",
            "exploration",
            "Exploration",
            "What is never tried is never learned: noise finds what is near, curiosity what is far.",
            (*WATCH, "hyper"),
        ),
        Lesson(
            "13",
            "q-learning",
            "q_learning_then_dqn",
            "Q-learning, then DQN",
            "The best next action is a target for any player's games; a network needs old games and a fixed target.",
            WATCH,
        ),
        Lesson(
            "14",
            "memory",
            "memory",
            "Memory",
            "One observation may not be enough; a memory carries what was seen to the decision that needs it.",
            WATCH,
        ),
        Lesson(
            "15",
            "continuous",
            "continuous_actions",
            "Continuous actions",
            "An action that is a number is drawn from a curve; learning sets its mean and how far it scatters.",
            WATCH,
        ),
        Lesson(
            "16",
            "search",
            "search",
            "Search",
            "A state that can be copied can be played ahead: weigh the outcomes, and drop the hopeless ones.",
            ("transport", "futures", "mind", "headline", "status", "training"),
        ),
        Lesson(
            "17",
            "search-teacher",
            "search_as_a_teacher",
            "Search as a teacher",
            "A policy can learn what search found: then it plays as well, and needs no search.",
            ("transport", "futures", "mind", "headline", "status", "training"),
        ),
        Lesson(
            "18",
            "world-models",
            "world_models",
            "World models",
            "A model of a game can be learned by watching; its dreams add up errors and know only what was tried.",
            (*WATCH, "dream"),
        ),
        Lesson(
            "19",
            "gate",
            "the_gate",
            "The gate",
            "The gate scores every proposal, and the score can train the policy even when nothing is done.",
            (*WATCH, "gate"),
        ),
        Lesson(
            "20",
            "drill",
            "write_your_own_drill",
            "Write your own drill",
            "A game is a state, rules that change it, what players see, and what they are paid for.",
            (*WATCH, "rewards"),
        ),
        Lesson(
            "21",
            "gymnasium",
            "any_gymnasium_environment",
            "Any Gymnasium environment",
            "The same learner takes any environment that can be reset, stepped and observed.",
            WATCH,
        ),
        Lesson(
            "22",
            "speed",
            "why_it_is_fast",
            "Why it is fast",
            "The order of numbers in memory decides the speed of a computation; a floor says how fast it could be.",
            ("transport", "training", "pace", "status", "headline"),
        ),
        Lesson(
            "23",
            "league",
            "run_a_class_league",
            "Run a class league",
            "A league table is fair when seeds are published, sides are swapped and everyone can check.",
            (
                "transport",
                "training",
                "status",
                "headline",
                "league",
            ),
            checks="dshq_widget.classroom.lesson",
        ),
    )
}
"""By name, in their order."""


def lesson(name: str) -> Lesson:
    """A lesson by its name, "shaping". Raises ValueError."""
    found = LESSONS.get(name)
    if found is None:
        raise ValueError(f"there is no lesson {name!r}; there are {', '.join(LESSONS)}")
    return found
