"""The pages of the papers name tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMED = [
    (page.name, *found)
    for page in sorted((ROOT / "docs" / "papers").glob("*.md"))
    for found in re.findall(r"`(tests/[\w/]+\.py)::(\w+)", page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("page", "file", "name"), NAMED, ids=[f"{page}-{name}" for page, _, name in NAMED])
def test_tests_that_pages_name_are_there(page: str, file: str, name: str) -> None:
    assert re.search(rf"^ *def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("paper", ["multi_contact", "wall_bouncing"])
def test_every_misprint_that_is_tested_is_on_its_page(paper: str) -> None:
    tested = (ROOT / "tests" / "papers" / f"test_misprints_{paper}.py").read_text(encoding="utf-8")
    assert set(re.findall(r"^def (test_\w+)", tested, re.MULTILINE)) <= {name for _, _, name in NAMED}
