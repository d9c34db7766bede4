"""What is read of an answer before it is run: who names what reaches out of its lesson is left to somebody."""

import pytest

from dshq_widget.lessons import LESSONS, Lesson, afresh
from dshq_widget.lessons.reach import reached
from tests.harness.notebook_reader import answers

BANDIT = afresh.lesson_sources("bandit")
RIGHT, *_ = answers(LESSONS["bandit"])


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        ("import os.path", ["os.path"]),
        ("from dshq_widget.lessons.checks import bandit", ["dshq_widget.lessons.checks"]),
        (
            "import dshq_widget\nfrom dshq_widget.lessons import afresh\nafresh.subprocess",
            ["dshq_widget.lessons.afresh", "subprocess"],
        ),
        ("from dshq_widget.lessons import os", ["dshq_widget.lessons.os", "os"]),
        ("import dshq_widget as d\nd.algorithms.algorithm.imported('os:read')", ["dshq_widget.algorithms", "imported"]),
        ("# %%writefile a.py\nexec('1')", ["exec"]),
        ("x = 1\n# %%writefile a.py\nexec('1')", ["exec"]),
        ("from numpy import *", ["numpy.*"]),
        ("from numpy.lib._datasource import *\nos.read(3, 9)", ["numpy.lib", "os"]),
        ("import numpy.lib as found\nfound.x", ["numpy.lib"]),
        ("np.ma.core.operator.attrgetter('x')(np)", ["numpy (as a whole)", "numpy.ma", "operator"]),
        ("np.random._pickle, np.random.mtrand", ["numpy.random._pickle", "numpy.random.mtrand"]),
        ("r = np.random\nf(np)", ["numpy (as a whole)", "numpy.random (as a whole)"]),
        ("np.allclose = lambda *a, **k: True", ["numpy.allclose (changed)"]),
        ("del np.random.default_rng", ["numpy.random.default_rng (changed)"]),
        ("np.load('a'), np.savez_compressed('a'), np.ones(1).dump('a')", ["dump", "load", "savez_compressed"]),
        ("x = open('a'), eval('1'), exec('1'), __import__('os')", ["__import__", "eval", "exec", "open"]),
        ("__builtins__['ev' + 'al']", ["__builtins__"]),
        ("(lambda: 0).__globals__", ["__globals__"]),
        ("match 0:\n    case object(__class__=found):\n        pass", ["__class__"]),
        ("getattr(np, 'o' + 's')", ["getattr", "numpy (as a whole)"]),
        ("'{0.gi_frame.f_back}'.format(x for x in ())", ["f_back", "gi_frame"]),
        ("np.fromfile('/dev' + '/fd/0'), np.ones(1).tofile('/proc/1')", ["/proc/", "fromfile", "tofile"]),
        ("raise SystemExit", ["SystemExit"]),
        ("torch.library.Library('aten', 'IMPL')", ["library"]),
        ("torch.nn.modules.module.register_module_forward_hook(print)", ["register_module_forward_hook"]),
        ("class A(float):\n    def __eq__(self, other):\n        return True", ["__eq__"]),
        ("type('A', (float,), {'__sub__': lambda a, b: 0.0})", ["__sub__"]),
        ("type('A', (float,), dict(__sub__=lambda a, b: 0.0))", ["__sub__"]),
        ("class A:\n    class __ne__(dict):\n        def __init__(self, other):\n            pass", ["__ne__"]),
        ("class A:\n    from math import isnan as __ne__", ["__ne__", "math (in a class)"]),
        ("class A:\n    def f(self):\n        global __q\n        import math as __q", ["__q (imported)"]),
        (
            "class A:\n    if 1:\n        import numpy as q\nA.q.allclose = print",
            ["allclose (changed)", "numpy (in a class)"],
        ),
        ("class A:\n    def f(self):\n        from math import log\n        return log(2)", []),
        ("class A:\n    match print:\n        case __eq__:\n            pass", ["__eq__"]),
        ("class A:\n    match [print]:\n        case [*__len__, __bool__]:\n            pass", ["__bool__"]),
        ("class A:\n    try:\n        1 / 0\n    except ArithmeticError as __hash__:\n        pass", ["__hash__"]),
        (
            "plots.matplotlib.numpy.ma.masked, plots.np.ma",
            ["dshq_widget.lessons.plots.matplotlib", "dshq_widget.lessons.plots.np", "matplotlib", "np"],
        ),
        ("plots.re.enum.bltns, plots.figure()", ["dshq_widget.lessons.plots.re"]),
        ("p = plots\np.re.enum.bltns", ["dshq_widget.lessons.plots (as a whole)"]),
        ("import dataclasses as d\nd.re.enum.bltns.tuple, d.field", ["dataclasses.re"]),
        ("from dataclasses import copy as c", ["dataclasses.copy"]),
        ("import typing\nc = typing.collections\nc._sys.modules", ["_sys", "typing.collections"]),
        ("import itertools, math\nf = math.sqrt, itertools.chain.from_iterable", []),
        (f"{RIGHT}\nimport math, numpy.random\nfrom numpy import ones", []),
        ("np.linalg.lstsq, np.add.reduce(np.float32(np.pi)), np.random.default_rng(1).random(), np.max, np.abs", []),
        ("from collections import deque\nimport collections, itertools\nitertools.chain, collections.Counter", []),
        (
            "import collections.abc\nimport collections as c\nc.abc, c._sys",
            ["abc", "collections._sys", "collections.abc"],
        ),
        ("import torch.nn.functional as F\nF.relu", ["torch.nn.functional"]),
        ("class A:\n    def __init__(self):\n        super().__init__()\nprint(A.__name__)", []),
        ("type(check('bandit')).__init__ = print", ["__init__ (changed)"]),
        ("for str.__name__ in 'x':\n    pass", ["__name__ (changed)"]),
        ("class A:\n    def __init__(self):\n        self.__x, self.y[0].z = 1, 2\na = A()\na.z, a.b.c = 3, 4", []),
        ("def f(net):\n    net.values = net.rows[0].x = 1", ["values (changed)", "x (changed)"]),
        ("class A:\n    pass\na: A = A()\na.x = 1\nfor p in net.parameters():\n    p.data -= p.grad", []),
        ("class A:\n    pass\na = A()\na = thing\na.x = 1", ["x (changed)"]),
        (
            "class A:\n    def f(self):\n        self.x = 1\nA.f(thing), type(A()).f",
            ["A.f (of the class)", "type(A()).f (of the class)"],
        ),
        ("class A:\n    @staticmethod\n    def f(x):\n        return x\nA.f(1), A().f(1)", []),
        (
            "class A:\n    def __init__(self):\n        self.x = 1\n"
            "class B(A):\n    def __init__(self):\n        A.__init__(self)",
            [],
        ),
        ("def f():\n    yield 1\nf().gi_code.replace(co_names=())", ["co_names", "gi_code"]),
        ("typing.get_args(hint)[0]._evaluate({}, {}, set())", ["_evaluate"]),
        (
            "w.traits()['layout']._resolve_string('builtins.eval'), envs.call('x'), f.evaluate()",
            ["_resolve_string", "call", "evaluate"],
        ),
        ("E = type(env).get_wrapper_attr, env.set_attr", ["get_wrapper_attr", "set_attr"]),
        ("try:\n    plots.nope\nexcept AttributeError as e:\n    e.obj.re", ["dshq_widget.lessons.plots.nope"]),
        (
            "class A:\n    def f(self):\n        self._x = self.call()\n        return self._x\n"
            "a = A()\na._x, row._replace(x=1)",
            [],
        ),
        ("class A:\n    def f(self):\n        self.x._evaluate()", ["_evaluate"]),
        ("np.newaxis, np.pi, Row._make, in_frame, my_code", []),
        ("np.testing.runstring", ["numpy.testing", "runstring"]),
        ("class A:\n    r = np.random\nA.r.mtrand", ["numpy.random (as a whole)"]),
        ("def f(self):\n    self.x = 1\nclass A:\n    def f(self):\n        self.x = 1", ["x (changed)"]),
        ("class A:\n    def f(self, net):\n        self = net\n        self.x = 1", ["x (changed)"]),
        ("class A:\n    @staticmethod\n    def f(net):\n        net.x = 1", ["x (changed)"]),
        ("type(net).values = print\nfor p in net.parameters():\n    p.grad = None", ["values (changed)"]),
        ("if __name__ == '__main__':\n    print('__init__')", []),
        ("def f(input, np):\n    vars = lambda io: io + input\n    return np.lib, np.x, vars(2), vars", []),
        ("import typing\nfrom __future__ import annotations\nfrom dataclasses import dataclass", []),
        ("from numpy.typing import NDArray\nfrom typing import Any\ndef f(x: NDArray[Any]): pass", []),
        ("import typing\ntyping.get_type_hints(f), typing.types", ["get_type_hints", "types", "typing.types"]),
        ("def f(xs):\n    return [open for open in xs], open('a')", ["open"]),
        ("def f():\n    eval = 1\nf = eval", ["eval"]),
        ("def f(eval=eval):\n    return eval", ["eval"]),
        ("def f():\n    global np\n    np = np.x", ["numpy.x"]),
        ("def f():\n    import numpy as np\n    return np", ["numpy (as a whole)"]),
        ("def f():\n    class A:\n        open = open", ["open"]),
    ],
)
def test_what_an_answer_names(answer: str, names: list[str]):
    assert reached(answer, BANDIT) == names


def test_a_name_that_was_imported_before_stands_for_the_same():
    """By another answer, say: what it was of numpy's was changed there, and nobody saw it."""
    answer = "def f():\n    q.allclose = print\n    return q.zeros(2), table"
    assert reached(answer, BANDIT) == ["allclose (changed)"]
    before = ["import numpy as q", "from dshq_widget.lessons import table", "no Python"]
    assert reached(answer, BANDIT, before) == ["dshq_widget.lessons.table", "numpy.allclose (changed)"]


def test_where_a_lesson_has_torch_its_answers_take_from_it_what_networks_are_made_of():
    answer = "import torch.nn.functional as F, torch.nn as nn\nfrom torch.optim import Adam\nF.relu, nn.Linear"
    assert reached(answer, ["import torch"]) == []
    answer = "import torch.utils.cpp_extension\nimport torch.nn as nn\ng = [nn]\nnn.Linear = 1"
    assert reached(answer, ["import torch"]) == [
        *("torch.nn (as a whole)", "torch.nn.Linear (changed)", "torch.utils.cpp_extension"),
    ]
    answer = "torch.hub.re, torch.nn.functional.math, torch.onnx, torch.Tensor.add, torch.nn.utils.clip_grad_norm_"
    assert reached(answer, ["import torch"]) == ["torch.hub", "torch.nn.functional.math", "torch.onnx"]
    answer = (
        "from torch import nn\nfrom torch.nn import functional as F\nF.relu, torch.cuda.is_available(), F.importlib"
    )
    assert reached(answer, ["import torch"]) == ["importlib", "torch.nn.functional.importlib"]


@pytest.mark.parametrize("lesson", LESSONS.values(), ids=lambda lesson: lesson.name)
def test_nobody_has_to_read_what_lessons_ask_for(lesson: Lesson):
    cells = afresh._cells(lesson.name)
    starts = [source for tags, source in cells if "exercise" in tags]
    for answer in [*answers(lesson), *starts]:
        assert reached(answer, [source for _, source in cells]) == [], answer
