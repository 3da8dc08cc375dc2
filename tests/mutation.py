"""Change one thing in the code at a time and see whether the tests notice: python tests/mutation.py --sample 100.

Each mutant is one comparison, condition, constant, operator, call or statement of `forensics/` changed. A forked child
imports the changed module instead of the real one and runs the tests that its module is covered by, until one fails.
What survives is listed with its line, to be judged: a test is missing, or the change makes no difference.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.abc
import importlib.util
import json
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

TOP = Path(__file__).parent.parent
OWNERSHIP = (
    *("test_owners_kept.py", "test_scope.py", "test_effects.py", "test_vllm.py", "test_excerpts.py", "test_loads.py"),
    *("test_twins.py", "test_forgeries.py", "test_planted_mistakes.py", "test_interleavings.py"),
)
ACCOUNTING = (
    *("test_telemetry.py", "test_verdict.py", "test_explain.py", "test_self_report.py", "test_vllm.py"),
    *("test_fixtures.py", "test_planted_mistakes.py"),
)
TESTS = {
    **dict.fromkeys(("scope", "groups", "whose", "lifecycle", "effects", "items", "writers"), OWNERSHIP),
    **dict.fromkeys(("measure", "places", "telemetry", "gap", "verdict", "amounts"), ACCOUNTING),
}
"""Which tests are to notice a change of which module, the quickest first: not all that would."""

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
REACHED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}


def places(tree: ast.Module) -> list[tuple[int, str]]:
    """Each change that a tree can take: the number of the node in order of walking, and what is changed."""
    skipped = {id(inner) for node in ast.walk(tree) for inner in _no_code(node)}
    return [
        (number, what)
        for number, node in enumerate(ast.walk(tree))
        if id(node) not in skipped
        for what in _changes(node)
    ]


def mutant(module: str, number: int, what: str) -> tuple[int, ast.Module]:
    """A module with one change, and its line."""
    tree = source(module)
    node = list(ast.walk(tree))[number]
    _apply(node, what)
    return getattr(node, "lineno", 0), ast.fix_missing_locations(tree)


def source(module: str) -> ast.Module:
    """A module of the package, as it stands."""
    return ast.parse((TOP / "forensics" / f"{module}.py").read_text("utf-8"))


def _no_code(node: ast.AST) -> Iterator[ast.AST]:
    """What types say, documentation, imports and invariants."""
    if isinstance(node, ast.Assert | ast.Import | ast.ImportFrom):
        yield from ast.walk(node)
    for name in ("annotation", "returns"):
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            yield from ast.walk(value)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        yield node
        yield node.value


def _changes(node: ast.AST) -> Iterator[str]:
    """What can be changed at a node."""
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        yield "condition negated"
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARED:
            yield "comparison"
        case ast.BoolOp():
            yield "and/or"
            yield "first operand alone"
        case ast.UnaryOp(op=ast.Not()):
            yield "not left out"
        case ast.BinOp(op=op) if type(op) in REACHED:
            yield "operator"
        case ast.Constant(value=bool()):
            yield "truth"
        case ast.Constant(value=int()):
            yield "number"
        case ast.Return(value=value) if value is not None:
            yield "returns nothing"
        case ast.FunctionDef(body=body) | ast.If(body=body) | ast.For(body=body):
            yield from (f"statement {place} left out" for place, one in enumerate(body) if _may_go(one))


def _may_go(node: ast.stmt) -> bool:
    """Whether a statement may be left out without a name that is then unknown: a change of something, or a way out."""
    match node:
        case ast.Continue() | ast.Break() | ast.AugAssign() | ast.Delete() | ast.Expr(value=ast.Call()):
            return True
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
            return True
        case _:
            return False


def _apply(node: ast.AST, what: str) -> None:
    """Make one change, in place."""
    if what.startswith("statement "):
        body: list[ast.stmt] = node.body  # type: ignore[attr-defined]
        body[int(what.split()[1])] = ast.Pass()
        return
    match node:
        case ast.Compare():
            node.ops = [COMPARED[type(node.ops[0])]()]
        case ast.BoolOp() if what == "and/or":
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case ast.BoolOp():
            node.values = [node.values[0], node.values[0]]
        case ast.UnaryOp():
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
        case ast.If() | ast.While() | ast.IfExp():
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case ast.BinOp():
            node.op = REACHED[type(node.op)]()
        case ast.Constant():
            node.value = (not node.value) if isinstance(node.value, bool) else int(str(node.value)) + 1
        case ast.Return():
            node.value = ast.Constant(None)


class Instead(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import a changed tree in the place of a module."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        self.name, self.path, self.tree = name, path, tree

    def find_spec(self, fullname: str, _path: object, _target: object = None) -> ModuleSpec | None:
        if fullname != self.name:
            return None
        return importlib.util.spec_from_file_location(fullname, self.path, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.tree, str(self.path), "exec"), module.__dict__)  # noqa: S102


def survives(module: str, number: int, what: str, most_s: float) -> bool:
    """Whether no test fails with a changed module; one that takes too long has failed."""
    child = os.fork()
    if child == 0:
        os.setsid()
        os._exit(one(module, number, what))
    until = time.monotonic() + most_s
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def one(module: str, number: int, what: str) -> int:
    """Run the tests of a module with one change in it; only what others made has been imported before."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    for name in [name for name in sys.modules if name.partition(".")[0] == "forensics"]:
        del sys.modules[name]
    _, tree = mutant(module, number, what)
    sys.meta_path.insert(0, Instead(f"forensics.{module}", TOP / "forensics" / f"{module}.py", tree))
    tests = [str(TOP / "tests" / name) for name in TESTS[module]]
    return int(pytest.main(["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--no-header", *tests]))


def main() -> int:
    """Sample mutants, run them, and list what survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--module", action="append", choices=sorted(TESTS))
    parser.add_argument("--sample", type=int, default=100, help="how many mutants, over all modules")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=120, help="seconds that one may take")
    parser.add_argument("--statistics", type=Path, help="a file to write the figures to, now and then")
    asked = parser.parse_args()
    importlib.import_module("forensics.case")  # and with it the libraries, once for all children
    every = [(module, number, what) for module in asked.module or TESTS for number, what in places(source(module))]
    chosen = random.Random(asked.seed).sample(every, min(asked.sample, len(every)))  # noqa: S311
    begun = time.monotonic()
    killed: dict[str, int] = {}
    survived: list[str] = []
    for number, (module, node, what) in enumerate(chosen, 1):
        line, _ = mutant(module, node, what)
        if survives(module, node, what, asked.most):
            survived.append(f"forensics/{module}.py:{line}: {what}")
            print(survived[-1], flush=True)
        else:
            killed[module] = killed.get(module, 0) + 1
        figures = {
            "mutants": len(every),
            "run": number,
            "killed": sum(killed.values()),
            "killed_by_module": killed,
            "survived": survived,
            "elapsed_s": round(time.monotonic() - begun),
        }
        if asked.statistics is not None:
            asked.statistics.write_text(json.dumps(figures, indent=1) + "\n")
    print(f"{sum(killed.values())} of {len(chosen)} killed ({len(every)} mutants in all)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
