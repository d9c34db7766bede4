"""What the rules, frames and network of a drill take on a GPU at least: bytes to move and operations to do.

Counted is what no program could leave out: of two branches the cheaper, every sample written once and read once an
epoch, and of a network its products alone.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from dshq_kernels.network.layers import shapes
from dshq_kernels.play.raster import HEIGHT, ROW_BYTES
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.gpu.plug import Work
from dshq_widget.policy.network import PolicySpec

SAMPLE_BYTES = 8 + 4 * 6 + 2
"""Fields of a sample besides its observations: action; log-probability, value, reward, advantage, return, next value;
two ends.
"""
COUNTED = ("add", "subtract", "multiply", "divide", "square_root")


class Costs:
    """What one tick, one frame and one agent step of a drill take."""

    def __init__(self, drill: CompiledDrill) -> None:
        spec = drill.spec
        self.source, self.sides = drill.devices["cuda"], spec.sides
        self.repeat, self.n_obs = spec.action_repeat, spec.n_obs

    @property
    def tick(self) -> Work:
        """One tick, decisions included."""
        return self._decision / self.repeat, self._ticks / self.repeat, 0.0

    @property
    def frame(self) -> Work:
        """One frame and the decision before it. Only its bytes count, written once: how many operations drawing takes
        is up to the program, which may leave out every shape that lies elsewhere.
        """
        return HEIGHT * ROW_BYTES + self._decision, self._ticks, 0.0

    @property
    def sample(self) -> float:
        """Bytes of one sample."""
        return 4.0 * self.n_obs + SAMPLE_BYTES

    def step(self, network: PolicySpec) -> Work:
        """One agent step of self-play, written as a sample."""
        seen = float(least(self.source, "observe", _operations))
        turn = 4.0 * least(self.source, "turn", _words)
        return turn / self.sides + self.sample, (self._ticks + seen) / self.sides, 2.0 * products_of(network)

    @property
    def _decision(self) -> float:
        return 4.0 * least(self.source, "tick", _words) + 4.0 * least(self.source, "decide", _words)

    @property
    def _ticks(self) -> float:
        return float(least(self.source, "tick", _operations, self.repeat))


def products_of(network: PolicySpec) -> float:
    """Products of one pass through a network: one a weight."""
    return float(sum(n_in * n_out for n_in, n_out in shapes(network.layers)))


def least(source: str, kernel: str, count: Callable[[ast.AST], int], times: int = 1) -> int:
    """What `count` finds in one thread of a kernel at least: loops in full, of branches the cheaper. `times` stands for
    the kernel's own number of rounds.
    """
    functions = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}

    def total(node: ast.AST) -> int:
        if isinstance(node, ast.For):
            assert isinstance(node.iter, ast.Call)
            kernels_own = any(isinstance(bound, ast.Name) for bound in node.iter.args)
            rounds = times if kernels_own else len(range(*map(ast.literal_eval, node.iter.args)))
            return rounds * sum(map(total, node.body))
        if isinstance(node, ast.If):
            body, other = sum(map(total, node.body)), sum(map(total, node.orelse))
            return total(node.test) + (body if _inside(node) else min(body, other))
        return count(node) + sum(map(total, ast.iter_child_nodes(node)))

    return sum(map(total, functions[kernel].body))


def _inside(node: ast.If) -> bool:
    """Whether this is the kernel's own question: is there a game for this thread?"""
    return "s.shape" in ast.unparse(node.test)


def _operations(node: ast.AST) -> int:
    return int(isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in COUNTED)


def _words(node: ast.AST) -> int:
    return int(isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "s")
