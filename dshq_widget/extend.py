"""Names for an algorithm of your own (docs/howto/own-algorithm.md); what is here keeps its name and meaning.

`ALGORITHM = Algorithm(name, one_process("my_module:run"), ...)` declares it, and `run`, marked with `@role`, calls
`train(channel, job, blocks, make)` with a function that makes a `Learner`.
"""

from dshq_kernels.play.rollout import Samples
from dshq_widget.algorithms.algorithm import Algorithm, one_process
from dshq_widget.contract.curves import Curve
from dshq_widget.contract.metrics import Metric
from dshq_widget.contract.panel import Panel
from dshq_widget.contract.sections import Section, read
from dshq_widget.contract.setting import NEXT_UPDATE, RESTART, ConfigError, setting
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.learning.own_settings import OwnSettings
from dshq_widget.learning.parts import Experience, Learner, Progress
from dshq_widget.learning.plain_run import train
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime.process import role

__all__ = [
    "NEXT_UPDATE",
    "RESTART",
    "Algorithm",
    "ConfigError",
    "Curve",
    "Experience",
    "Learner",
    "Metric",
    "OwnSettings",
    "Panel",
    "PolicySpec",
    "Progress",
    "Samples",
    "Section",
    "TrainConfig",
    "one_process",
    "read",
    "role",
    "setting",
    "train",
]
