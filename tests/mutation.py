"""Change one thing in the code at a time and see whether the tests notice: python tests/mutation.py --sample 100.

Each mutant is one comparison, condition, constant, operator, call or statement of `forensics/` changed. First each test
runs once with nothing changed, to see which lines it takes and how long. Then a forked child per mutant changes the
function in place and runs the tests that take its line, the quick and telling ones first, until one fails. What stands
outside of functions is imported anew, with all test files that concern its module.

A mutant is killed if a test fails, the import breaks, or a test takes more than ten times as long as it did. It has
survived if all tests pass, or if none takes its line. What survives is listed with its line, to be judged: a test is
missing, or the change makes no difference.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import gc
import hashlib
import importlib
import importlib.abc
import importlib.util
import itertools
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import coverage
import pytest

TOP = Path(__file__).parent.parent
OWNERSHIP = (
    *("test_owners_kept.py", "test_scope.py", "test_effects.py", "test_load_scope.py", "test_vllm.py"),
    *("test_excerpts.py", "test_loads.py", "test_relays.py", "test_twins.py", "test_forgeries.py"),
    *("test_planted_mistakes.py", "test_interleavings.py", "test_writers.py", "test_swaps.py", "test_crashes.py"),
)
ACCOUNTING = (
    *("test_amounts.py", "test_telemetry.py", "test_verdict.py", "test_explain.py", "test_self_report.py"),
    *("test_vllm.py", "test_records_telemetry.py", "test_fixtures.py", "test_values.py", "test_planted_mistakes.py"),
    *("test_report.py", "test_timeline.py"),
)
TESTS = {
    **dict.fromkeys(("scope", "groups", "whose", "lifecycle", "effects", "items", "writers"), OWNERSHIP),
    **dict.fromkeys(("measure", "places", "telemetry", "gap", "verdict", "amounts"), ACCOUNTING),
}
"""Which tests concern which module, of which all are asked about a line that they take: not all that would notice."""

REACH = Path(tempfile.gettempdir()) / "forensics-mutation-reach.json"

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


@dataclass(frozen=True)
class Mutant:
    """One change of a module."""

    module: str
    number: int
    what: str
    line: int
    column: int
    text: str
    """The line as it is written: it finds a mutant again in a module that has been edited."""
    taken_by: range
    """The lines of the innermost statement that holds it: who takes one of them may notice."""
    inside: bool
    """Whether it stands in a function, and not in what runs once when the module is imported."""

    def __str__(self) -> str:
        return f"forensics/{self.module}.py:{self.line}: {self.what}: {self.text}"


def mutants(module: str) -> list[Mutant]:
    """Each mutant of a module."""
    tree = source(module)
    lines = path_of(module).read_text("utf-8").splitlines()
    nodes = list(ast.walk(tree))
    holds = {id(inner): outer for outer in nodes for inner in ast.iter_child_nodes(outer)}
    found = []
    for number, what in places(tree):
        node = nodes[number]
        if what.startswith("statement "):
            node = node.body[int(what.split()[1])]  # type: ignore[attr-defined]
        above = [node]
        while (outer := holds.get(id(above[-1]))) is not None:
            above.append(outer)
        statement = next(one for one in above if isinstance(one, ast.stmt))
        inside = any(
            isinstance(outer, ast.Lambda) or (isinstance(outer, ast.FunctionDef) and inner in outer.body)
            for inner, outer in itertools.pairwise(above)
        )
        line = getattr(node, "lineno", 0)
        taken = _taken(statement)
        found.append(Mutant(module, number, what, line, node.col_offset, lines[line - 1].strip(), taken, inside))  # type: ignore[attr-defined]
    return found


def _taken(statement: ast.stmt) -> range:
    """The lines of a statement, without those of the statements in it."""
    inner = [one.lineno for one in ast.walk(statement) if isinstance(one, ast.stmt) and one is not statement]
    last = statement.end_lineno or statement.lineno
    return range(statement.lineno, max(min([last + 1, *inner]), statement.lineno + 1))


def path_of(module: str) -> Path:
    """Where a module lies."""
    return TOP / "forensics" / f"{module}.py"


def put_in_place(mutant_: Mutant) -> None:
    """Give the functions of an imported module the code that they have after a change.

    Raises:
        SyntaxError: The change makes no code.
    """
    path = str(path_of(mutant_.module))
    _, tree = mutant(mutant_.module, mutant_.number, mutant_.what)
    new = dict(_functions(compile(tree, path, "exec")))
    old = dict(_functions(compile(source(mutant_.module), path, "exec")))
    changed = {key: code for key, code in new.items() if code != old[key]}
    done = 0
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__code__.co_filename == path:
            code = changed.get((one.__code__.co_qualname, one.__code__.co_firstlineno))
            if code is not None:
                one.__code__ = code
                done += 1
    if not done and changed:
        raise LookupError(f"{mutant_}: no function is left of it")


def _functions(code: CodeType) -> Iterator[tuple[tuple[str, int], CodeType]]:
    """The functions and methods of a module, not those inside of others."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if inner.co_flags & 1:  # CO_OPTIMIZED: a function; a class body is not
                yield (inner.co_qualname, inner.co_firstlineno), inner
            else:
                yield from _functions(inner)


@dataclass
class Test:
    """What is known of a test."""

    seconds: float
    lines: dict[str, set[int]]
    """By module, those that it takes."""
    asked: int = 0
    kills: int = 0


def most_telling(tests: dict[str, Test], names: list[str], budget_s: float) -> list[str]:
    """Tests in the order in which to ask them, as far as the time reaches.

    Each file gets its share of the time, the more the oftener its tests have told; inside a file those come first that
    have told, then the quick ones.
    """
    by_file: dict[str, list[str]] = defaultdict(list)
    asked: Counter[str] = Counter()
    kills: Counter[str] = Counter()
    for name, test in tests.items():
        asked[name.partition("::")[0]] += test.asked
        kills[name.partition("::")[0]] += test.kills
    for name in names:
        by_file[name.partition("::")[0]].append(name)
    turns: dict[str, float] = {}
    for file, own in by_file.items():
        rate = (kills[file] + 1) / (asked[file] + 10)
        spent = 0.0
        for name in sorted(own, key=lambda one: tests[one].seconds / (1 + 10 * tests[one].kills)):
            spent += tests[name].seconds
            turns[name] = spent / rate
    chosen: list[str] = []
    spent = 0.0
    for name in sorted(names, key=turns.__getitem__):
        spent += tests[name].seconds
        if spent <= budget_s or not chosen:
            chosen.append(name)
    return chosen


class Forks:
    """In the place of pytest's loop: a fork to see what each test takes, then one for each mutant."""

    def __init__(
        self, asked: list[Mutant], reach: Path, done: Callable[[Mutant, str, float], None], budget_s: float
    ) -> None:
        self.asked, self.reach, self.done, self.budget_s = asked, reach, done, budget_s

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        tests = self.known(items)
        for one in self.asked:
            begun = time.monotonic()
            taking = [
                name for name, test in tests.items() if not test.lines.get(one.module, set()).isdisjoint(one.taken_by)
            ]
            taking = most_telling(tests, taking, self.budget_s)
            killer = self.killer(one, [items[name] for name in taking], tests) if taking else None
            last = (killer or "").removeprefix("too long: ")
            for name in taking:
                tests[name].asked += 1
                if name == last:
                    tests[name].kills += 1
                    break
            self.done(one, killer or ("survived" if taking else "survived, no test takes it"), time.monotonic() - begun)
        return True

    def known(self, items: dict[str, pytest.Item]) -> dict[str, Test]:
        """What each test takes: kept in a file as long as neither the code nor a test changes."""
        files = [*(path_of(module) for module in TESTS), *{item.path: None for item in items.values()}]
        state = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
        if not self.reach.exists() or json.loads(self.reach.read_text("utf-8"))["state"] != state:
            child = os.fork()
            if child == 0:
                _quiet()
                os._exit(_trace(items, self.reach, state))
            _, status = os.waitpid(child, 0)
            if status:
                raise RuntimeError(f"with nothing changed: {self.reach.read_text('utf-8')}")
        return {
            name: Test(seconds, {module: set(lines) for module, lines in taken.items()})
            for name, (seconds, taken) in json.loads(self.reach.read_text("utf-8"))["tests"].items()
        }

    def killer(self, one: Mutant, items: list[pytest.Item], tests: dict[str, Test]) -> str | None:
        """The test that fails with a change, or none."""
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            _quiet()
            os._exit(_killed(one, items, tests, write))
        os.close(write)
        with os.fdopen(read, "rb") as told:
            begun = told.read().decode().split("\n")
        _, status = os.waitpid(child, 0)
        if status == 0:
            return None
        return begun[-2] if os.WIFEXITED(status) else f"too long: {begun[-2]}"


def _quiet() -> None:
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)


def _trace(items: dict[str, pytest.Item], reach: Path, state: str) -> int:
    """Run all tests, and write what each takes."""
    modules = {str(path_of(module)): module for module in TESTS}
    traced = coverage.Coverage(data_file=None, include=list(modules), branch=False, config_file=False)
    traced.start()
    seconds = {}
    for name, item, following in _in_turn(items.values()):
        traced.switch_context(name)
        begun = time.monotonic()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        seconds[name] = time.monotonic() - begun
        if item.session.testsfailed:
            reach.write_text(json.dumps({"state": f"{name} failed"}), "utf-8")
            return 1
    traced.stop()
    lines: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for path, module in modules.items():
        for line, names in traced.get_data().contexts_by_lineno(path).items():
            for name in names:
                lines[name][module].append(line)
    found = {name: (seconds[name], lines.get(name, {})) for name in seconds}
    reach.write_text(json.dumps({"state": state, "tests": found}), "utf-8")
    return 0


def _killed(one: Mutant, items: list[pytest.Item], tests: dict[str, Test], write: int) -> int:
    """Run the tests with a change; each is told of as it begins, and has ten times the time that it took before."""
    os.write(write, b"the change itself\n")
    put_in_place(one)
    for name, item, following in _in_turn(items):
        os.write(write, name.encode() + b"\n")
        signal.setitimer(signal.ITIMER_REAL, 10 * tests[name].seconds + 20)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if item.session.testsfailed:
            return 1
    return 0


def _in_turn(items: Iterable[pytest.Item]) -> Iterator[tuple[str, pytest.Item, pytest.Item | None]]:
    every = list(items)
    for item, following in zip(every, [*every[1:], None], strict=True):
        yield item.nodeid, item, following


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


def survives(one: Mutant, most_s: float) -> bool:
    """Whether no test fails with a module that is imported anew; one that takes too long has failed."""
    child = os.fork()
    if child == 0:
        os.setsid()
        _quiet()
        os._exit(anew(one))
    until = time.monotonic() + most_s
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.1)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def anew(one: Mutant) -> int:
    """Run the tests of a module with one change in it; only what others made has been imported before."""
    for name, module in list(sys.modules.items()):
        file = Path(getattr(module, "__file__", None) or "none")
        if name != "__main__" and (name.partition(".")[0] == "forensics" or file.parent == TOP / "tests"):
            del sys.modules[name]
    _, tree = mutant(one.module, one.number, one.what)
    sys.meta_path.insert(0, Instead(f"forensics.{one.module}", path_of(one.module), tree))
    return int(pytest.main([*PYTEST, "-x", *(str(TOP / "tests" / name) for name in TESTS[one.module])]))


PYTEST = ["-q", "-n", "0", "-p", "no:cacheprovider", "--no-header", "--no-summary", "--capture=no"]


def again(file: Path) -> list[Mutant]:
    """The survivors that a file tells of, wherever their lines stand by now."""
    found = []
    for row in (json.loads(line) for line in file.read_text("utf-8").splitlines()):
        if row["end"].startswith("survived"):
            same = [
                one
                for one in mutants(row["module"])
                if (one.what, one.column, one.text) == (row["what"], row["column"], row["text"])
            ]
            if same:
                found.append(min(same, key=lambda one: abs(one.line - row["line"])))
            else:
                print(f"gone: {row['module']}:{row['line']}: {row['what']}: {row['text']}")
    return found


def main() -> int:
    """Sample mutants, run them, and list what survived."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", action="append", choices=sorted(TESTS))
    parser.add_argument("--sample", type=int, default=100, help="how many mutants, over all modules")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", type=Path, help="instead of a sample: the survivors in a file of statistics")
    parser.add_argument("--test", action="append", help="a test file to ask, instead of all that are listed above")
    parser.add_argument("--most", type=int, default=600, help="seconds for a mutant that is imported anew")
    parser.add_argument("--budget", type=float, default=1000, help="leave out the dearest tests beyond so many seconds")
    parser.add_argument("--reach", type=Path, default=REACH, help="keeps what each test takes")
    parser.add_argument("--statistics", type=Path, help="a file to append a row to for each mutant")
    asked = parser.parse_args()
    every = [one for module in asked.module or TESTS for one in mutants(module)]
    if asked.again is None:
        chosen = random.Random(asked.seed).sample(every, min(asked.sample, len(every)))  # noqa: S311
    else:
        chosen = [one for one in again(asked.again) if one.module in (asked.module or TESTS)]
    ends: Counter[tuple[str, str]] = Counter()
    screen = os.fdopen(os.dup(1), "w", encoding="utf-8")

    def done(one: Mutant, end: str, seconds: float) -> None:
        ends[one.module, "survived" if end.startswith("survived") else "killed"] += 1
        if end.startswith("survived"):
            print(f"{one} ({end})", file=screen, flush=True)
        if asked.statistics is not None:
            row = {**dataclasses.asdict(one), "taken_by": None, "end": end, "seconds": round(seconds, 2)}
            with asked.statistics.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")

    importlib.import_module("forensics.case")  # and with it the libraries, once for all children
    forks = Forks([one for one in chosen if one.inside], asked.reach, done, asked.budget)
    files = asked.test or dict.fromkeys((*OWNERSHIP, *ACCOUNTING))
    pytest.main([*PYTEST, *(str(TOP / "tests" / name) for name in files)], plugins=[forks])
    for one in chosen:
        if not one.inside:
            begun = time.monotonic()
            done(one, "survived" if survives(one, asked.most) else "an import anew", time.monotonic() - begun)
    for module in TESTS:
        if tried := ends[module, "killed"] + ends[module, "survived"]:
            print(f"{module:<12} {ends[module, 'killed']:>4} of {tried}", file=screen)
    killed = sum(number for (_, end), number in ends.items() if end == "killed")
    print(f"{killed} of {ends.total()} killed ({len(every)} mutants in all)", file=screen)
    return 0


if __name__ == "__main__":
    sys.exit(main())
