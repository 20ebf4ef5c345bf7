"""`python -m bench.house`: each rule broken once, in a small tree, is seen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import house

FACADE = '''"""A package."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trundle.models import Ball as Ball
'''
BASE = {
    "__init__.py": FACADE,
    "models/__init__.py": '"""Models."""\n\nfrom trundle.models.ball import Ball\n\n__all__ = ["Ball"]\n',
    "models/ball.py": '"""A ball."""\n\n\nclass Ball:\n    """A ball of six words here.\n\n    >>> 1\n    1\n    """\n',
}


def checkout(folder: Path, files: dict[str, str]) -> Path:
    for name, text in (BASE | files).items():
        file = folder / "src" / "trundle" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def figures(folder: Path, files: dict[str, str]) -> dict:
    return house.measure(checkout(folder, files) / "src" / "trundle")


def test_a_tree_in_order_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert house.main(["--root", str(checkout(tmp_path, {})), "--check"]) == 0
    assert capsys.readouterr().out == ""


ONE_USER = {
    "systems/__init__.py": "",
    "systems/planar/__init__.py": "",
    "systems/planar/walk.py": "from trundle.models import hull\n",
    "models/hull.py": "x = 1\n",
}
LONG_FUNCTION = "def f():\n" + "    x = 1\n" * 79
LAZY = "def f():\n    from trundle.models import b\n    return b\n"
BROKEN = {
    "folders": {f"plan/m{i}.py": "" for i in range(17)},
    "long_modules": {"plan/long.py": "x = 1\n" * 600},
    "long_functions": {"plan/long.py": LONG_FUNCTION},
    "circles": {"models/a.py": "from trundle.models import b\n", "models/b.py": "import trundle.models.a\n"},
    "circles_with_inner": {"models/a.py": LAZY, "models/b.py": "from .a import f\n"},
    "quoted_kinds": {"report/plots.py": 'if kind == "planar":\n    pass\n'},
    "any": {"plan/loose.py": "from typing import Any\n\nx: Any\n" + "y: list[Any]\n" * 199},
    "aliases_of_any": {"plan/loose.py": "from typing import Any\n\nJson = Any\n"},
    "facade": {
        "__init__.py": '"""A package."""\n\nfrom typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n'
        + "".join(f"    from trundle.models import N{i} as N{i}\n" for i in range(86))
    },
    "nested_comprehensions": {"models/a.py": "x = [\n    i\n    for j in range(3)\n    for i in range(j)\n]\n"},
    "bare_constants": {"models/a.py": "FAR = 2.0\n"},
    "participles": {"models/a.py": "".join(f"def mov{one}ed():\n    pass\n\n\n" for one in "abcdefghijk")},
    "shared_class_names": {
        f"models/{name}.py": "".join(f"class C{i}:\n    pass\n\n\n" for i in range(11)) for name in "ab"
    },
    "of_one_system": ONE_USER,
    "of_nobody": {"models/hull.py": "x = 1\n"},
    "largest_slice": {
        "systems/planar/__init__.py": "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n"
        + "".join(f"    from trundle.systems.planar.a import N{i} as N{i}\n" for i in range(41))
    },
}


@pytest.mark.parametrize("rule", house.HELD)
def test_a_broken_rule_is_seen(tmp_path: Path, rule: str, capsys: pytest.CaptureFixture[str]) -> None:
    root = checkout(tmp_path, BROKEN[rule])
    assert house.main(["--root", str(root), "--check"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert {line.split(":")[0] for line in lines if not line.startswith(" ")} >= {rule}


@pytest.mark.parametrize(
    "files",
    [
        {f"plan/m{i}.py": "" for i in range(16)} | {"plan/__init__.py": ""},
        {"plan/long.py": "x = 1\n" * 599},
        {"plan/long.py": "def f():\n" + "    x = 1\n" * 78},
        {"systems/planar/scenario/build.py": 'kind = "planar"\n'},
        {"report/plots.py": '"""planar"""\n\n\ndef f():\n    """walking"""\n    return "a planar run"\n'},
        {"models/urdf/joints.py": 'TYPES = ("revolute", "planar")\n'},
        {"plan/words.py": '# Any\nx = "Any"\n\n\ndef f():\n    """Any."""\n'},
        {
            "models/a.py": (
                "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from trundle.models.b import x\n\ny = 1\n"
            ),
            "models/b.py": "from trundle.models.a import y\n\nx = y\n",
        },
    ],
    ids=["folder", "module", "function", "system", "prose", "urdf", "words", "type-checking"],
)
def test_what_is_allowed_is_not_reported(tmp_path: Path, files: dict[str, str]) -> None:
    found = figures(tmp_path, files)
    found["of_nobody"] = []  # nothing imports these files
    assert house.check(found) == []
    assert found["any"] == 0


def test_code_lines_leave_out_prose_and_blank_lines(tmp_path: Path) -> None:
    text = '''"""Module.

Two lines.
"""

# a comment
x = 1  # behind code

y = """a text

# of three lines"""


class A:
    """Class."""

    z: int = 0
    """An attribute."""
'''
    found = figures(tmp_path, {"systems/planar/a.py": text})
    assert found["code_lines"] - found["code_lines_outside_systems"] == 1 + 3 + 2
    assert found["code_lines_outside_systems"] == 3 + 2 + 1  # of the three files that are always there


def test_any_is_counted_where_it_is_a_name(tmp_path: Path) -> None:
    text = "import typing\nfrom typing import Any, cast\n\nx: 'dict[str, Any]'\ny = cast('Any', x)\n"
    text += "z: typing.Any\nw: Any\n"
    found = figures(tmp_path, {"plan/a.py": text})
    assert (found["any"], found["any_without_imports"]) == (5, 4)
    assert found["any_by_package"] == {"plan": 5}


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("from trundle.models import b", "from trundle.models import a"),
        ("from . import b", "from .a import x"),
        ("import importlib\nimportlib.import_module('trundle.models.b')", "import trundle.models.a"),
        ("from trundle.models import Ball", ""),
    ],
)
def test_circles_are_seen_through_every_kind_of_import(tmp_path: Path, a: str, b: str) -> None:
    package = '"""Models."""\n\nfrom trundle.models.a import Ball\n' if not b else BASE["models/__init__.py"]
    found = figures(tmp_path, {"models/a.py": a + "\n", "models/b.py": b + "\n", "models/__init__.py": package})
    (circle,) = found["circles"]
    assert circle == ("trundle.models <-> trundle.models.a" if not b else "trundle.models.a <-> trundle.models.b")


def test_names_and_fields_said_twice_are_listed(tmp_path: Path) -> None:
    tables = """
class Table(BaseModel):
    pass


class Foot(Table):
    mass: float = 1
    size: float = Field(default=0.2, gt=0)
    name: str = "foot"
    needed: float


class Long(Foot):
    points: list[int] = Field(default_factory=list)
    other: float = 3.0
"""
    data = """
@dataclass(frozen=True)
class Foot:
    mass: float = 1.0
    size: float = 0.2
    name: str = "hand"
    needed: float = 1.0
    points: list[int] = field(default_factory=list)


class Plain:
    other: float = 3.0
"""
    found = figures(tmp_path, {"scenarios/schema.py": tables, "contact/foot.py": data})
    assert found["shared_class_names"] == ["Foot: contact/foot.py, scenarios/schema.py"]
    assert [line.split(" =")[0] for line in found["repeated_declarations"]] == [
        "scenarios/schema.py:Foot.mass",
        "scenarios/schema.py:Foot.size",
        "scenarios/schema.py:Long.points",
    ]


def test_docstrings_are_measured_for_all_and_for_the_facade(tmp_path: Path) -> None:
    texts = 'def f():\n    """One two."""\n\n\ndef _g():\n    """Not public."""\n\n\n'
    texts += "class C:\n    def m(self):\n        pass\n"
    found = figures(tmp_path, {"plan/a.py": texts})["docstrings"]
    assert found["facade"] == {"count": 1, "median_words": 9, "examples": 1}
    assert found["all"] == {"count": 4, "median_words": 1.0, "examples": 1}


def test_json_holds_what_the_report_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = str(checkout(tmp_path, {"report/plots.py": 'kind = "planar"\n'}))
    assert house.main(["--root", root, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["quoted_kinds"] == ["report/plots.py:1: 'planar'"]
    assert house.main(["--root", root, "--list"]) == 0
    text = capsys.readouterr().out
    assert "report/plots.py:1: 'planar'" in text
    assert all(key.replace("_", " ") in text for key in found)


@pytest.mark.parametrize(("name", "is_one"), [("told", True), ("_held", True), ("turned", True), ("speed", False)])
def test_a_participle_is_told_from_a_verb(name: str, is_one: bool, tmp_path: Path) -> None:
    text = f"def {name}():\n    pass\n\n\nclass C:\n    @property\n    def moved(self):\n        return 1\n"
    found = figures(tmp_path, {"models/a.py": text})
    assert found["participles"] == ([f"models/a.py:1: {name}"] if is_one else [])


def test_the_text_is_counted(tmp_path: Path) -> None:
    text = '''"""A module."""

# Why this number,
# in two lines.
NEAR = 1.0  # m
FAR = 2.0
SIZE = 3.0
"""m: of what."""
PROGRAM = """
int f(void) { return 1; }
"""


def f(d: int) -> list[int]:
    """Return numbers."""
    if d == 2:
        return [i for i in range(3)]
    return [
        i
        for j in range(3)
        for i in range(j)
    ]
'''
    found = figures(tmp_path, {"models/a.py": text})
    assert found["bare_constants"] == ["models/a.py:6: FAR"]
    assert found["nested_comprehensions"] == ["models/a.py:18"]
    assert found["modules_that_ask_for_the_dimension"] == ["models/a.py"]
    base = figures(tmp_path / "other", {})
    lines = found["code_lines"] - base["code_lines"]
    assert lines == 14
    assert found["comments_per_100_code_lines"] == round(100 * 3 / found["code_lines"], 2)
    assert found["comprehensions_per_1000_code_lines"] == round(1000 * 2 / found["code_lines"], 1)
    of_constants, of_program, of_function = 3 * 3, 2 + 10, 13 + 5 + 11 + 18
    assert found["tokens"] - base["tokens"] == of_constants + of_program + of_function


def test_tokens_of_c_leave_out_comments(tmp_path: Path) -> None:
    base = figures(tmp_path / "other", {})["tokens"]
    found = figures(tmp_path, {"models/a.c": "/* a\n   comment */ int x = 1.5e3; // more\n"})
    assert (found["tokens"] - base, found["tokens_of_c"]) == (5, 5)


def test_a_name_that_a_package_hands_on_counts_for_its_module(tmp_path: Path) -> None:
    """What the core reaches through a package is the core's, also if a system uses it."""
    files = {
        **ONE_USER,
        "models/__init__.py": BASE["models/__init__.py"].replace(
            "Ball\n\n", "Ball\nfrom trundle.models.hull import x\n\n"
        ),
        "simulate/__init__.py": "",
        "simulate/run.py": "from trundle.models import x\n",
    }
    assert figures(tmp_path, files)["of_one_system"] == []


def test_matches_of_prose_are_counted(tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    lines = [
        "pytest.raises(E, match='a text')",
        "pytest.raises(E, match='key')",
        "pytest.raises(E)",
        "raises(E, match=f'{x}')",
    ]
    (tests / "test_a.py").write_text("\n".join(lines))
    assert house.measure(checkout(tmp_path, {}) / "src" / "trundle", tests)["prose_matches"] == 2


def test_contributors_see_the_floors_that_the_imports_draw(capsys: pytest.CaptureFixture[str]) -> None:
    assert house.main(["--floors"]) == 0
    assert capsys.readouterr().out in (Path(__file__).resolve().parents[1] / "CONTRIBUTING.md").read_text()
