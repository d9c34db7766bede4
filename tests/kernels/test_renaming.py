"""Names of assignments, straight on and where control flow meets. That the bits stay is the parity tests' to say."""

from dshq_kernels.backends.renaming import Renaming
from dshq_kernels.language.ir import BOOL, I32, Assign, Binary, Compare, Const, Expr, For, If, Out, Stmt, Var


def var(name: str) -> Var:
    return Var(name, I32)


def more(name: str, n: int = 1) -> Assign:
    return Assign(name, Binary("+", var(name), Const(n, I32), I32))


def text(statement: Stmt | Expr) -> str:
    """A statement as one would write it."""
    if isinstance(statement, Assign):
        return f"{statement.name} = {text(statement.value)}"
    if isinstance(statement, If):
        return f"if {text(statement.test)}: {lines(statement.body)} else: {lines(statement.orelse)}"
    if isinstance(statement, For):
        return f"for {statement.var}: {lines(statement.body)}"
    if isinstance(statement, Out):
        return f"out {text(statement.value)}"
    if isinstance(statement, (Binary, Compare)):
        return f"{text(statement.a)} {statement.op} {text(statement.b)}"
    return statement.name if isinstance(statement, Var) else str(statement.value)  # type: ignore[union-attr]


def lines(statements: tuple[Stmt, ...]) -> str:
    return "; ".join(map(text, statements))


ONE, ZERO = Const(1, I32), Const(0, I32)
TEST = Compare("<", var("a"), ONE, BOOL)
OUT = Out(ZERO, var("a"))


def renamed(*statements: Stmt) -> str:
    return lines(Renaming().block(statements))


def test_straight_lines_assign_each_name_once():
    assert renamed(Assign("a", ONE), more("a"), more("a"), OUT) == "a = 1; a__2 = a + 1; a__3 = a__2 + 1; out a__3"


def test_branches_write_back_what_was_there_before_them():
    inside = If(TEST, (more("a"), more("a"), Assign("t", ONE)), (Assign("t", ZERO),))
    assert renamed(Assign("a", ONE), more("a"), inside, OUT, Out(ZERO, var("t"))) == (
        "a = 1; a__2 = a + 1; "
        "if a__2 < 1: a__3 = a__2 + 1; a__4 = a__3 + 1; t__2 = 1; a__2 = a__4; t = t__2 "
        "else: t__3 = 0; t = t__3; "
        "out a__2; out t"
    )


def test_what_only_one_branch_knows_is_its_own():
    only = If(TEST, (Assign("t", ONE), more("t")), ())
    assert renamed(Assign("a", ONE), only, only) == (
        "a = 1; if a < 1: t = 1; t__2 = t + 1 else: ; if a < 1: t__3 = 1; t__4 = t__3 + 1 else: "
    )


def test_loops_carry_on_and_have_an_index_of_their_own():
    loop = For("k", 0, 9, 1, (Assign("t", var("k")), more("a"), If(TEST, (more("a"),), ())))
    assert renamed(Assign("a", ONE), loop, loop, OUT) == (
        "a = 1; "
        "for k: t = k; a__2 = a + 1; if a__2 < 1: a__3 = a__2 + 1; a__2 = a__3 else: ; a = a__2; "
        "for k__2: t__2 = k__2; a__4 = a + 1; if a__4 < 1: a__5 = a__4 + 1; a__4 = a__5 else: ; a = a__4; "
        "out a"
    )


def test_blocks_of_one_function_share_no_names():
    renaming = Renaming()
    assert lines(renaming.block((Assign("a", ONE), OUT))) == "a = 1; out a"
    assert lines(renaming.block((Assign("a", ONE), OUT))) == "a__2 = 1; out a__2"
