"""The list of mutants is repeatable and stratified, each can be run, and every explanation is of code that is there."""

from __future__ import annotations

import ast
import json
import tomllib
from collections import Counter
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
EXPLAINED = tomllib.loads((HERE / "explained.toml").read_text(encoding="utf-8"))["mutant"]
JOURNAL = [json.loads(line) for line in (HERE / "mutants.jsonl").read_text(encoding="utf-8").splitlines()]

SHAPE = '''"""A made-up module."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numbers import Number as Size

WIDTH: int | None = 3


def area(width: int | None, height: Size) -> int | None:
    """Return width * height + 1."""
    if width is None or height < 2:
        return -1
    for _ in range(4):
        width = (
            width * 2 -
            height
        )
    return width
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    pytest.importorskip("cosmic_ray", reason="pip install '.[mutants]'")
    for folder in ("geometry", "contact", "models/tree", "simulate/events", "numerics"):
        home = tmp_path / "src/trundle" / folder
        home.mkdir(parents=True)
        for copy in range(4):
            (home / f"part{copy}.py").write_text(SHAPE)
    return tmp_path


def test_what_only_a_type_checker_reads_is_not_mutated(project: Path) -> None:
    from tests.mutation.mutants import places

    lines = Counter(m.before for m in places(project, 1) if m.path == "src/trundle/contact/part0.py")
    assert lines == {
        "WIDTH: int | None = 3": 1,
        "if width is None or height < 2:": 5,  # the condition, is, or, <, 2
        "return -1": 2,
        "for _ in range(4):": 2,
        "width * 2 -": 3,
    }


def test_every_mutant_is_a_program_that_differs_in_its_place(project: Path) -> None:
    from tests.mutation.mutants import sample

    for mutant in sample(project, 3, 25):
        text = mutant.source(project)
        before, after = SHAPE.splitlines(), text.splitlines()
        ast.parse(text)
        assert [i + 1 for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b] == [mutant.line]
        assert mutant.statement[0] <= mutant.line <= mutant.statement[1]
        assert mutant.before == before[mutant.line - 1].strip() != mutant.after(SHAPE, text)


def test_a_shorter_sample_is_the_beginning_of_a_longer_one_and_has_the_shares_of_all(project: Path) -> None:
    from tests.mutation.mutants import places, sample

    everything = Counter((m.part, m.family) for m in places(project, 7))
    total = sum(everything.values())
    long = sample(project, 7, total)
    assert sorted(m.key for m in long) == sorted(m.key for m in places(project, 7))
    assert [m.key for m in long] != [m.key for m in sample(project, 8, total)]
    for count in (total // 10, total // 3, total // 2):
        short = sample(project, 7, count)
        assert short == long[:count]
        for stratum, members in Counter((m.part, m.family) for m in short).items():
            assert abs(members - count * everything[stratum] / total) <= 1.5


def test_an_edit_elsewhere_leaves_the_order_of_the_others(project: Path) -> None:
    from tests.mutation.mutants import sample

    before = [m.key for m in sample(project, 1, 10_000) if "part0" not in m.path]
    edited = project / "src/trundle/contact/part0.py"
    edited.write_text('"""Longer."""\n' + SHAPE.replace("-1", "1 - 2"))
    after = [m.key for m in sample(project, 1, 10_000) if "part0" not in m.path]
    assert sorted(after) == sorted(before)
    of_one = [[k for k in keys if "geometry" in k and "NumberReplacer" in k] for keys in (before, after)]
    assert of_one[0] == of_one[1]


def test_tests_are_tried_from_the_modules_own_file_first_then_the_quickest_of_each() -> None:
    from tests.mutation.trial import in_stages

    own, near, far = (f"tests/{name}.py::" for name in ("geometry/test_x", "geometry/test_y", "models/test_z"))
    tests = {own + "slow": 3.0, own + "quick": 1.0, near + "one": 0.5, near + "two": 0.7, far + "one": 0.1}
    first, rest = in_stages(tests, ("tests/geometry/test_x.py",), (4.0, 1.25))
    assert list(first) == [own + "quick", own + "slow"]
    assert list(rest) == [near + "one", near + "two"]  # with the other package's it would be too long


def test_every_explanation_is_of_a_mutant_that_lives_in_code_that_is_there() -> None:
    sources = {line["key"].split(" | ")[0] for line in JOURNAL}
    assert all((ROOT / source).exists() for source in sources)
    for entry in EXPLAINED:
        assert set(entry) <= {"key", "after", "equivalent", "reason"}
        assert len(entry["reason"]) > 20
        assert isinstance(entry["equivalent"], bool)
        path, _, text, *_ = [*entry["key"].split(" | "), "", "", ""]
        assert not path.startswith("src/") or text in (ROOT / path).read_text(encoding="utf-8"), entry["key"]
