"""What the project's files say of each other is true."""

from __future__ import annotations

import importlib
import itertools
import os
import re
import shlex
import subprocess
import textwrap
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import trundle
from trundle.cli.app import app
from trundle.scenarios import catalogue

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MAKEFILE = (ROOT / "Makefile").read_text()
PAGES = sorted([*ROOT.glob("*.md"), *(p for p in (ROOT / "docs").rglob("*.md") if "_build" not in p.parts)])
NAMES = {page.relative_to(ROOT).as_posix(): page for page in PAGES}


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", MAKEFILE, flags=re.MULTILINE))


def anchors(page: Path) -> set[str]:
    """The anchors that a Markdown viewer gives the headings of `page`."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading.strip().lower())) for heading in headings}


def test_the_version_is_said_alike_everywhere() -> None:
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), flags=re.MULTILINE)
    changed = re.search(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert cited is not None
    assert changed is not None
    assert trundle.__version__ == version("trundle") == cited[1] == changed[1]


def test_ci_calls_exactly_the_test_command_of_the_readme() -> None:
    run = ROOT / ".ci" / "run"
    lines = [line for line in run.read_text().splitlines() if line and not line.startswith(("#", "set ", "cd "))]
    told = [line.split("#")[0].strip() for block in blocks(ROOT / "README.md", "sh") for line in block.splitlines()]
    assert lines == ["make test"]
    assert lines[0] in told
    assert os.access(run, os.X_OK)
    assert "set -euo pipefail" in run.read_text()


def test_make_test_runs_lint_types_and_the_suite_last() -> None:
    plan = subprocess.run(
        ["make", "-n", "test"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    ).stdout
    assert plan.index("ruff check") < plan.index("pyright") < plan.index("-m pytest")
    assert "-m pytest" in plan.splitlines()[-1]
    assert '-m "not slow"' in plan.splitlines()[-1]
    assert "--ignore" not in plan
    assert "--deselect" not in plan


@pytest.mark.parametrize(
    "target",
    [
        "demo",
        "test",
        "test-all",
        "bench",
        "classics",
        "fuzz",
        "mutants",
        "matrix",
        "docs",
        "dist-check",
        "lint",
        "typecheck",
        "format",
        "clean",
    ],
)
def test_make_has_the_target_and_lists_it(target: str) -> None:
    assert target in make_targets()
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout
    assert f"make {target} " in listed


def test_make_test_all_runs_every_test() -> None:
    plan = subprocess.run(["make", "-n", "test-all"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    (line,) = (line for line in plan.stdout.splitlines() if "-m pytest" in line)
    assert re.search(r"not |-m [^p]|--ignore|--deselect", line) is None


def makefile_here(folder: Path, recipe: str) -> subprocess.CompletedProcess[str]:
    """Run a target of one's own with the project's Makefile functions."""
    (folder / "own.mk").write_text(f"include {ROOT / 'Makefile'}\n\nown:\n\t{recipe}\n\t@echo after\n")
    return subprocess.run(
        ["make", "-s", "-f", "own.mk", "own"], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )


def test_what_an_installer_says_goes_to_its_log(tmp_path: Path) -> None:
    done = makefile_here(tmp_path, "$(call logged,said.log,echo a notice; echo a warning >&2)")
    assert (done.returncode, done.stdout, done.stderr) == (0, "after\n", "")
    assert (tmp_path / "said.log").read_text() == "a notice\na warning\n"


def test_an_installer_that_fails_is_told_with_the_end_of_its_log(tmp_path: Path) -> None:
    done = makefile_here(tmp_path, "$(call logged,said.log,seq 30; echo no such package >&2; exit 3)")
    assert done.returncode != 0
    assert "after" not in done.stdout
    lines = done.stdout.splitlines()
    assert lines[0] == "[failed] said.log says why; its end:"
    assert lines[1:] == [f"    {line}" for line in [*range(12, 31), "no such package"]]


@pytest.mark.parametrize("target", ["demo", "test", "docs", "bench", "mutants"])
def test_every_installation_of_a_target_is_logged(target: str) -> None:
    plan = subprocess.run(
        ["make", "-n", "-W", "pyproject.toml", target], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    installing = [line for line in plan.stdout.splitlines() if " install " in line and "pip" in line]
    installing = [line for line in installing if "--editable" in line]
    assert installing
    assert all(re.search(r"\) >\S+/install\S*\.log 2>&1 \|\|", line) for line in installing)


@pytest.mark.parametrize("name", NAMES)
def test_make_commands_in_prose_exist(name: str) -> None:
    code = re.findall(r"`make ([a-z-]+)`|^make ([a-z-]+)", NAMES[name].read_text(), flags=re.MULTILINE)
    assert {first or second for first, second in code} <= make_targets()


@pytest.mark.parametrize("name", NAMES)
def test_links_of_a_page_resolve(name: str) -> None:
    page = NAMES[name]
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        path, _, anchor = link.partition("#")
        if path.startswith(("https://", "http://")):
            continue
        target = (page.parent / path) if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_readme_opens_with_picture_commands_and_example() -> None:
    screen = (ROOT / "README.md").read_text().splitlines()[:30]
    text = "\n".join(screen)
    assert re.search(r"!\[.+\]\(docs/images/.+\.gif\)", text)
    assert "make demo" in text
    assert "make test" in text
    assert "import trundle as tr" in text


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{re.escape(language)}$\n(.*?)^```$", page.read_text(), flags=re.MULTILINE | re.DOTALL)


COMMANDS = [
    (name, command, told.split(" #")[0].split(" > ")[0])
    for name, page in NAMES.items()
    if name != "CHANGELOG.md"
    for command, told in re.findall(
        r"(?:`|^ *|/|\$ |!)trundle ([a-z][a-z-]*)([^`\n|]*)", page.read_text(), flags=re.MULTILINE
    )
]


def test_commands_in_prose_have_the_options_that_it_gives_them() -> None:
    known = {
        name: {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
        for name, command in get_command(app).commands.items()  # type: ignore[attr-defined]
    }
    assert {command for _, command, _ in COMMANDS} == known.keys()
    given = [
        (name, command, o) for name, command, told in COMMANDS for o in re.findall(r"(?<=\s)--?[a-z][a-z-]*", told)
    ]
    assert [(name, command, option) for name, command, option in given if option not in known[command]] == []


def test_scenarios_take_the_values_that_commands_in_prose_set() -> None:
    for _, command, told in COMMANDS:
        words = shlex.split(told) if command in ("run", "sweep", "export", "compare", "mjcf") else []
        if words and (words[0] in catalogue.names() or words[0].startswith("examples/")) and "<tab>" not in told:
            changes = [value for option, value in itertools.pairwise(words) if option == "--set"]
            trundle.load_scenario(words[0] if "/" not in words[0] else ROOT / words[0], changes)


def test_names_modules_and_tests_in_prose_exist() -> None:
    public = {*trundle.__all__, *trundle._FAMILIES}
    libraries = {name: getattr(trundle, name) for name in (*trundle._SLICES, *trundle._FAMILIES)}
    slices = {name: {*module.__all__} for name, module in libraries.items() if hasattr(module, "__all__")}
    for name, page in NAMES.items():
        text = page.read_text() if name != "CHANGELOG.md" else ""
        assert set(re.findall(r"\btr\.(\w+)", text)) <= public, name
        for slice_name, names in slices.items():
            assert set(re.findall(rf"\btr\.{slice_name}\.(\w+)", text)) <= names, name
        modules = [one.replace(".", "/") for one in re.findall(r"python -m ((?:bench|tests)[.\w]*\w)", text)]
        assert [m for m in modules if not (ROOT / f"{m}.py").exists() and not (ROOT / m / "__main__.py").exists()] == []
        for file, test in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text):
            assert f"def {test}" in (ROOT / file).read_text(), (name, file, test)


@pytest.mark.parametrize("name", ["README.md", "docs/tutorials/first-steps.md"])
def test_python_in_prose_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cells = blocks(NAMES[name], "python") + blocks(NAMES[name], "{code-cell} ipython3")
    names: dict[str, Any] = {}
    exec("\n".join(cells), names)
    assert names["run"].status is trundle.Status.SUCCESS
    assert names["run"].feasible
    assert (tmp_path / "plate.nc").stat().st_size > 0


def test_the_landing_page_has_the_commands_and_the_example_of_the_readme() -> None:
    page, readme = NAMES["docs/index.md"], NAMES["README.md"]
    for language in ("sh", "python"):
        assert blocks(page, language) == blocks(readme, language)[:1]
    assert page.read_text().count("```{toctree}") == page.read_text().count("```{toctree}\n:hidden:\n")


def test_extras_are_installed_from_the_clone() -> None:
    """The package is on no index: a command that asks one for it does not work."""
    asked = re.compile(r"pip install [^`\n]*\btrundle\b")
    files = [*PAGES, *(one for name in ("src", "examples", "bench", "tests") for one in (ROOT / name).rglob("*.py"))]
    assert [one for one in files if asked.search(one.read_text())] == []
    told = re.findall(
        r"`(\w+)`", "".join(re.findall(r"^\| (`.+?) \|", NAMES["docs/installation.md"].read_text(), re.M))
    )
    assert set(told) == set(PROJECT["optional-dependencies"]) - {"all", "mutants"}


SCENARIOS = [ROOT / "docs" / "scenarios.md", *sorted((ROOT / "docs" / "scenarios").glob("*.md"))]


@pytest.mark.parametrize("block", [block for page in SCENARIOS for block in blocks(page, "toml")])
def test_scenario_files_in_the_documentation_are_valid(block: str, tmp_path: Path) -> None:
    file = tmp_path / "documented.toml"
    file.write_text(block)
    assert trundle.load_scenario(file).kind in block


@pytest.mark.parametrize("name", ["docs/own-system.md", "docs/howto/system.md"])
def test_entry_points_in_the_documentation_are_those_of_the_example(name: str) -> None:
    (block,) = re.findall(r"^ *```toml$\n(.*?)^ *```$", NAMES[name].read_text(), flags=re.MULTILINE | re.DOTALL)
    assert textwrap.dedent(block) in (ROOT / "examples" / "own_system" / "pyproject.toml").read_text()


API = sorted((ROOT / "docs" / "api").glob("*.md"))


@pytest.mark.parametrize("page", API, ids=[page.name for page in API])
def test_modules_and_members_that_the_documentation_lists_exist(page: Path) -> None:
    for name, options in re.findall(r"\.\. automodule:: (\S+)\n((?:   :.*\n)*)", page.read_text()):
        module = importlib.import_module(name)
        listed = re.findall(r":(?:exclude-)?members:(.*)", options)
        members = [member for line in listed for member in re.findall(r"\w+", line)]
        assert [member for member in members if not hasattr(module, member)] == []


def test_the_readme_says_of_other_software_what_the_page_says() -> None:
    rows = {
        name: [
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in re.findall(r"^\|.*\|$", NAMES[name].read_text(), re.MULTILINE)
        ]
        for name in ("README.md", "docs/comparison.md")
    }
    wide = [row[:5] for row in rows["docs/comparison.md"]]
    start = next(i for i, row in enumerate(rows["README.md"]) if "Pinocchio" in row)
    table = rows["README.md"][start : start + 10]
    assert table[0] == ["", "trundle", "MuJoCo", "Drake", "Pinocchio"]
    assert table == wide[:10]


def test_bundled_licence_is_the_declared_one() -> None:
    assert PROJECT["license"] == "BSD-3-Clause"
    assert (ROOT / "LICENSE").read_text().startswith("BSD 3-Clause License")


def test_all_asks_for_every_extra_that_users_need() -> None:
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    asked = set(re.findall(r"\w+", everything)) - {"trundle"}
    assert asked == set(extras) - {"all", "dev", "docs", "bench", "peers", "mutants"}


def test_no_file_of_the_project_names_a_private_path() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    texts = [f for f in listed.stdout.split() if f.endswith((".md", ".toml", ".py", ".cff", ".yaml", "Makefile"))]
    private = re.compile(r"(?<![\w.])/(?:home|root|work|Users)/\w")
    assert [f for f in texts if (ROOT / f).exists() and private.search((ROOT / f).read_text())] == []
