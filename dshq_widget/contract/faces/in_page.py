"""Training in the page: the trainer that a page fetches, and what kernel and page say of a run with `engine="page"`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dshq_widget.contract.face import Face
from dshq_widget.contract.json_fields import Entry
from dshq_widget.contract.messages import Message


@dataclass(frozen=True)
class FetchTrainer(Message):
    relaxed: bool
    """Whether this browser has relaxed SIMD."""


@dataclass(frozen=True)
class Trainer(Message):
    """The worker's code, the learner's and the drill's module and the drill's WGSL are its buffers, unless there is a
    problem.
    """

    problem: str


@dataclass(frozen=True)
class LearnerWanted(Message):
    """A run waits for a page to train in."""

    run: int


@dataclass(frozen=True)
class LearnerOffered(Message):
    """This page can train: when it opens, and when one is wanted. The first one gets the run."""

    learner: int
    """The page's number, a random one."""


@dataclass(frozen=True)
class ToLearner(Message):
    """For the learner in that page: `START`, or a message of `kernel_to_learner`. Of START the newest policy's weights
    are a buffer, and the file to continue from, if there is one.
    """

    learner: int
    run: int
    message: dict[str, Any]


@dataclass(frozen=True)
class FromLearner(Message):
    """Of the learner in that page, like `learner_to_kernel` (js/features/in_page/learner_link.ts). Weights of a POLICY,
    and a part of a file, are its buffer.
    """

    learner: int
    run: int
    message: dict[str, Any]


IN_PAGE = Face(
    controls={
        "train-in-page": "Train in this page",
        "keep-policy": "Save policy",
        "continue-kept": "Continue from it",
        "other-kept": "Show another",
        "discard-kept": "Discard it",
    },
    attributes={"trainer-ready": Entry("true or false", "Whether the page has the code that it trains with.")},
    to_kernel=(FetchTrainer, LearnerOffered, FromLearner),
    to_page=(Trainer, LearnerWanted, ToLearner),
)
