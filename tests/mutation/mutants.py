"""Which mutants there are, and a seeded, stratified order of them of which every beginning is a sample.

The changes are those of cosmic-ray (https://cosmic-ray.readthedocs.io) that a person could have written: no shift in
place of a sum. One mutant a place of the text; types and what only a type checker reads are left out.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.provider import OperatorProvider

PARTS = {
    "geometry": "src/trundle/geometry",
    "contact": "src/trundle/contact",
    "tree": "src/trundle/models/tree",
    "events": "src/trundle/simulate/events",
    "numerics": "src/trundle/numerics",
}
_BINARY = "Add_Sub Add_Mul Sub_Add Sub_Mul Mul_Div Mul_Add Div_Mul Div_FloorDiv FloorDiv_Div FloorDiv_Mul"
_BITS = "Mod_FloorDiv Pow_Mul BitOr_BitAnd BitAnd_BitOr BitXor_BitAnd LShift_RShift RShift_LShift"
_ORDER = "Eq_NotEq NotEq_Eq Lt_LtE Lt_GtE LtE_Lt LtE_Gt Gt_GtE Gt_LtE GtE_Gt GtE_Lt Is_IsNot IsNot_Is"
_LOGIC = "AddNot ReplaceTrueWithFalse ReplaceFalseWithTrue ReplaceAndWithOr ReplaceOrWithAnd"
_FLOW = "ReplaceBreakWithContinue ReplaceContinueWithBreak ExceptionReplacer RemoveDecorator ZeroIterationForLoop"
FAMILIES = {
    "arithmetic": [
        *(f"ReplaceBinaryOperator_{n}" for n in f"{_BINARY} {_BITS}".split()),
        "ReplaceUnaryOperator_Delete_USub",
    ],
    "comparisons": [f"ReplaceComparisonOperator_{n}" for n in _ORDER.split()],
    "logic": [*_LOGIC.split(), "ReplaceUnaryOperator_Delete_Not"],
    "numbers": ["NumberReplacer"],
    "flow": _FLOW.split(),
}
_OPERATORS = {name: OperatorProvider()[name]() for names in FAMILIES.values() for name in names}


@dataclass(frozen=True)
class Mutant:
    """One change of one file: an operator at one of its places, and the statement around it."""

    part: str
    family: str
    path: str
    operator: str
    occurrence: int
    function: str
    line: int
    statement: tuple[int, int]
    before: str
    nth: int  # among equal changes of equal lines of the function

    @property
    def key(self) -> str:
        """Name the mutant by what stays the same when other lines move."""
        return f"{self.path} | {self.function} | {self.before} | {self.operator} {self.nth}"

    def share(self, seed: int) -> str:
        """Return the digest that orders the mutants: it depends on this one and the seed only."""
        return hashlib.sha256(f"{seed} {self.key}".encode()).hexdigest()

    def source(self, root: Path) -> str:
        """Return the text of the mutated file."""
        text = mutate_code((root / self.path).read_text(encoding="utf-8"), _OPERATORS[self.operator], self.occurrence)
        if text is None:
            raise LookupError(f"no place {self.occurrence} for {self.operator} in {self.path}")
        return text

    def after(self, original: str, source: str) -> str:
        """Return the line of the mutated text; empty where it is gone."""
        before, after = original.splitlines(), source.splitlines()
        return after[self.line - 1].strip() if len(before) == len(after) else ""


def sample(root: Path, seed: int, count: int) -> list[Mutant]:
    """Return `count` mutants, of each part and family its share; every beginning of them is such a sample."""
    strata: dict[tuple[str, str], list[Mutant]] = defaultdict(list)
    for mutant in places(root, seed):
        strata[mutant.part, mutant.family].append(mutant)
    ranked = []
    for stratum, members in strata.items():
        members.sort(key=lambda m: m.share(seed))
        # A point of the i-th of n equal pieces of (0, 1), the same in all pieces: small strata do not come all at once.
        shift = int(hashlib.sha256(f"{seed} {stratum}".encode()).hexdigest()[:8], 16) / 16**8
        ranked += [((i + shift) / len(members), m.key, m) for i, m in enumerate(members)]
    return [m for _, _, m in sorted(ranked, key=lambda r: r[:2])[:count]]


def places(root: Path, seed: int) -> Iterator[Mutant]:
    """Yield one mutant for each place: of the changes that are possible there, the one with the lowest share."""
    for part, folder in PARTS.items():
        for path in sorted((root / folder).rglob("*.py")):
            here: dict[tuple[Any, str], list[Mutant]] = defaultdict(list)
            for place, mutant in _of_file(root, path, part):
                here[place, mutant.family].append(mutant)
            for mutants in here.values():
                yield min(mutants, key=lambda m: m.share(seed))


def _of_file(root: Path, path: Path, part: str) -> Iterator[tuple[Any, Mutant]]:
    text = path.read_text(encoding="utf-8")
    tree, lines = get_ast(text), text.splitlines()
    nodes = list(ast_nodes(tree))
    silent = {id(node) for top in nodes for skipped in _for_types(top) for node in ast_nodes(skipped)}
    name = path.relative_to(root).as_posix()
    for family, operators in FAMILIES.items():
        for operator in operators:
            occurrence, seen = -1, Counter[tuple[str, str]]()
            for node in nodes:
                for place in _OPERATORS[operator].mutation_positions(node):
                    occurrence += 1
                    if id(node) in silent:
                        continue
                    (line, _), function = place[0], _function(node)
                    before = lines[line - 1].strip()
                    seen[function, before] += 1
                    where = name, operator, occurrence, function, line, _statement(node)
                    yield place, Mutant(part, family, *where, before, seen[function, before])


def _for_types(node: Any) -> list[Any]:
    """Return the children that only a type checker reads: annotations and the block of `if TYPE_CHECKING`."""
    if node.type in ("param", "funcdef"):
        return [node.annotation] if node.annotation is not None else []
    if node.type == "annassign":
        return [node.children[1]]
    if node.type == "decorator" and node.children[1].get_code() in ("final", "overload", "override"):
        return [node]
    return [node] if node.type == "if_stmt" and node.children[1].get_code().strip() == "TYPE_CHECKING" else []


def _function(node: Any) -> str:
    names = []
    while node is not None:
        if node.type in ("funcdef", "classdef"):
            names.append(node.name.value)
        node = node.parent
    return ".".join(reversed(names))


def _statement(node: Any) -> tuple[int, int]:
    """Return first and last line of the simple statement or the head of the compound one around the node."""
    inner = node
    while node.parent is not None and node.type not in ("simple_stmt", "suite", "file_input"):
        inner, node = node, node.parent
    last = inner.end_pos[0] if node.type == "simple_stmt" else max(node.start_pos[0], inner.start_pos[0])
    return (node if node.type == "simple_stmt" else inner).start_pos[0], last
