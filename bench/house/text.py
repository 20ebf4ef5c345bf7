"""How the text reads: tokens, comments, comprehensions, constants without a reason, tests on the dimension."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from bench.sources import FUNCTIONS, Module

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LAYOUT = {
    *(tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.ENCODING),
    tokenize.ENDMARKER,
}
_C_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\w+(?:\.\w+)?|<<=|>>=|[-+*/%&|^!=<>]=|->|\+\+|--|&&|\|\||<<|>>|[^\s\w]')
_C_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_TOOL = re.compile(r"#\s*(?:noqa|pyright:|type:|pragma|ruff:|fmt:)")
_DIMENSION = {"d", "dim", "dims", "dimension", "dimensions", "space_dimension", "_d"}
_PLANAR = re.compile(r"^_?(?:is_|in_)?(?:planar|plane|spatial|space|in_plane|in_the_plane|in_space|flat_world)$")


@cache
def _tokens(source: str) -> list[tokenize.TokenInfo]:
    return list(tokenize.generate_tokens(io.StringIO(source).readline))


def python_tokens(module: Module) -> int:
    """Count the tokens of a module's code: no docstrings, no comments; code in strings of several lines included."""
    docs = {(text.lineno, text.col_offset) for text in module.bare_strings}
    count = 0
    for token in _tokens(module.source):
        if token.type in _LAYOUT or token.start in docs:
            continue
        several = token.type == tokenize.STRING and "\n" in token.string
        count += c_tokens(token.string.strip("rbf\"'")) if several else 1
    return count


def c_tokens(source: str) -> int:
    """Count the tokens of C, without comments."""
    return len(_C_TOKEN.findall(_C_COMMENT.sub(" ", source)))


def c_files(folder: Path) -> list[Path]:
    """Return the C sources and headers below a folder."""
    return sorted(file for kind in ("*.c", "*.h") for file in folder.rglob(kind))


def comments(module: Module) -> int:
    """Count the comments: blocks of own lines, trailing ones, and texts under constants; not those for tools."""
    count, last = 0, -2
    for token in _tokens(module.source):
        if token.type == tokenize.COMMENT and not _TOOL.match(token.string):
            own = token.line.lstrip().startswith("#")
            count += not (own and last == token.start[0] - 1)
            last = token.start[0] if own else -2
    return count + sum(1 for _ in _texts_under_constants(module))


def _texts_under_constants(module: Module) -> Iterator[int]:
    """Yield the lines at which a constant ends that a text follows."""
    for before, node in zip(module.tree.body, module.tree.body[1:], strict=False):
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        if text and isinstance(before, ast.Assign | ast.AnnAssign):
            yield before.end_lineno or before.lineno


def comprehensions(module: Module) -> int:
    """Count comprehensions and generator expressions."""
    return sum(isinstance(node, _COMPREHENSIONS) for node in module.nodes)


def nested_comprehensions(module: Module) -> list[str]:
    """List comprehensions that are two deep over more than two lines."""
    found = []
    for node in module.nodes:
        if isinstance(node, _COMPREHENSIONS) and (node.end_lineno or node.lineno) - node.lineno >= 2:
            inner = any(isinstance(one, _COMPREHENSIONS) for one in ast.walk(node) if one is not node)
            if inner or len(node.generators) > 1:
                found.append(f"{module.path}:{node.lineno}")
    return found


def bare_constants(module: Module) -> list[str]:
    """List numeric constants of a module that have neither comment nor text that says unit and reason."""
    marks = [token for token in _tokens(module.source) if token.type == tokenize.COMMENT]
    own = {token.start[0] for token in marks if token.line.lstrip().startswith("#")}
    behind = {token.start[0] for token in marks} - own
    explained = set(_texts_under_constants(module))
    found = []
    for node in module.tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if not isinstance(node, ast.Assign | ast.AnnAssign) or not _is_number(value):
            continue
        lines = behind & {*range(node.lineno, (node.end_lineno or node.lineno) + 1)} or own & {node.lineno - 1}
        names = [one.id for one in targets if isinstance(one, ast.Name) and one.id.isupper()]
        if names and not lines and node.end_lineno not in explained:
            found.append(f"{module.path}:{node.lineno}: {names[0]}")
    return found


def _is_number(value: ast.expr | None) -> bool:
    """Whether an expression is a number, or arithmetic of numbers."""
    if isinstance(value, ast.UnaryOp):
        return _is_number(value.operand)
    if isinstance(value, ast.BinOp):
        return _is_number(value.left) and _is_number(value.right)
    kinds = isinstance(value, ast.Constant) and isinstance(value.value, int | float)
    return kinds and not isinstance(getattr(value, "value", None), bool)


def dimension_tests(module: Module) -> list[str]:
    """List the lines that ask whether the world is a plane or space, whatever the question is called."""
    found = []
    for node in module.nodes:
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            asked = _last_name(node.left) in _DIMENSION
            other = node.comparators[0]
            if asked and isinstance(other, ast.Constant) and other.value in (2, 3):
                found.append(f"{module.path}:{node.lineno}")
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            test = node.test.operand if isinstance(node.test, ast.UnaryOp) else node.test
            if _PLANAR.match(_last_name(test)):
                found.append(f"{module.path}:{node.lineno}")
    return found


def _last_name(node: ast.AST) -> str:
    while isinstance(node, ast.Call):
        node = node.func
    return getattr(node, "attr", getattr(node, "id", ""))


def prose_matches(tests: Path) -> int:
    """Count ``raises(..., match=...)`` in tests that match a text of several words, not a key."""
    count = 0
    for file in sorted(tests.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _last_name(node.func) == "raises":
                texts = [keyword.value for keyword in node.keywords if keyword.arg == "match"]
                count += any(_is_prose(text) for text in texts)
    return count


def _is_prose(text: ast.expr) -> bool:
    """Whether a pattern holds words with blanks between them; what is put together at run time counts as prose."""
    return not isinstance(text, ast.Constant) or " " in str(text.value)


def function_lengths(module: Module) -> Iterator[int]:
    """Yield the lines of every function."""
    for node in module.nodes:
        if isinstance(node, FUNCTIONS):
            yield (node.end_lineno or node.lineno) - node.lineno + 1
