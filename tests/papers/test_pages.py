"""Pages on papers name tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "papers").glob("*.md"))
PROOF = re.compile(r"`(tests/[\w/.-]+\.py)(?:::(\w+))?`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_test_named_on_the_page_exists(page: Path) -> None:
    named = PROOF.findall(page.read_text(encoding="utf-8"))
    assert named or page.stem == "index"
    for file, name in named:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        assert not name or name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, name


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem != "index"], ids=lambda page: page.stem)
def test_no_test_is_named_in_another_way(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count("tests/") == len(PROOF.findall(text))


@pytest.mark.parametrize("file", sorted(Path(__file__).parent.glob("test_misprints_*.py")), ids=lambda file: file.stem)
def test_every_misprint_that_is_tested_is_on_a_page(file: Path) -> None:
    tested = set(re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE))
    assert tested <= {name for page in PAGES for _, name in PROOF.findall(page.read_text(encoding="utf-8"))}
