"""What pages that are made, tutorials and pictures of the documentation hold."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from types import ModuleType

import pytest
from PIL import Image

import trundle
from tests.named import SIBLINGS, NamedRuns
from tests.page_heights import BUILT, heights
from tests.slowly import slow_but
from trundle.scenarios import catalogue

ROOT = Path(__file__).resolve().parents[1]
DOCS, EXAMPLES = ROOT / "docs", ROOT / "examples"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)
TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))
STILLS = sorted((DOCS / "images" / "gallery").iterdir())
FAMILIES = (
    *("contact", "control", "geometry", "models", "optimal", "records", "simulate"),
    *(
        "systems.juggling",
        "systems.multicontact",
        "systems.planar",
        "systems.walking",
    ),  # pages of wallbounce are by module
)


@pytest.fixture
def page_module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of docs/ that makes a page or its pictures, by name."""
    monkeypatch.syspath_prepend(DOCS)
    return importlib.import_module  # type: ignore[return-value]


def test_the_gallery_has_every_scenario_and_every_example(page_module) -> None:
    gallery = page_module("gallery")
    files = {catalogue.path_of(name) for name in catalogue.names()} | {*EXAMPLES.glob("*.py"), *EXAMPLES.glob("*.toml")}
    cards = {card.file: card for card in gallery.cards()}
    assert set(cards) == files
    shown = re.findall(r"literalinclude\} (\S+)", gallery.page())
    assert sorted((DOCS / one).resolve() for one in shown) == sorted(file.resolve() for file in files)
    assert all(card.line and (DOCS / card.topic).is_file() for card in cards.values())


def test_every_card_has_a_picture_unless_there_is_nothing_to_draw(page_module) -> None:
    cards, reasons = page_module("gallery").cards(), page_module("pictures").NOT_DRAWN
    draws = {card.name for card in cards if card.scenario or "plot" in card.file.read_text()} - reasons.keys()
    assert {card.name for card in cards if card.picture.is_file()} == draws
    assert {card.picture for card in cards if card.picture.is_file()} == set(STILLS)


def test_pictures_of_the_gallery_are_small() -> None:
    sizes = [still.stat().st_size for still in STILLS]
    assert max(sizes) <= 25_000  # bytes
    assert sum(sizes) <= 1_000_000


def test_six_small_pictures_of_the_readme_move(page_module) -> None:
    moving, pages = page_module("pictures").MOVING, [ROOT / "README.md", DOCS / "index.md"]
    shown = [re.findall(r"images/([\w-]+)\.webp\)", page.read_text()) for page in pages]
    assert shown[0] == shown[1] == list(moving)
    for name in moving:
        file = DOCS / "images" / f"{name}.webp"
        assert file.stat().st_size <= 200_000  # bytes
        with Image.open(file) as image:
            assert getattr(image, "n_frames", 1) >= 12


def test_every_metric_has_a_unit_and_a_meaning(page_module) -> None:
    metrics = page_module("metrics")
    page = metrics.page()
    for kind in metrics.asking():
        common, groups = metrics.declared(kind)
        found = common.items() | {one for group in groups for one in group.quantities.items()}
        assert [name for name, one in found if not one.meaning] == []
        assert [name for name, _ in found if f"\n| `{name}` |" not in page] == []


@pytest.mark.parametrize("name", slow_but(catalogue.names(), *set(catalogue.names()) - SIBLINGS))
def test_every_metric_of_a_scenario_is_on_the_page(page_module, named: NamedRuns, name: str) -> None:
    done, metrics = named(name), page_module("metrics")
    common, groups = metrics.declared(trundle.load_scenario(name).kind)
    known = {*common, *(metric for group in groups for metric in group.quantities)}
    for metric, meaning in done.meanings.items():
        assert meaning, metric
        assert any(metric == one or metric.startswith(f"{one}_") for one in known) or metrics.LATE in metric, metric


def test_there_are_six_tutorials_of_which_none_needs_the_repository() -> None:
    assert len(TUTORIALS) == 6
    for page in TUTORIALS:
        text = page.read_text()
        assert f"{{nb-download}}`{page.stem}.ipynb`" in text
        assert "literalinclude" not in text
        cells = "".join(re.findall(r"```\{code-cell\}.*?```", text, flags=re.DOTALL))
        assert re.search(r"environ|examples/|kept_runs|\.\./", cells) is None


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_runs_as_a_notebook_in_an_empty_folder(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbclient, read = pytest.importorskip("nbclient"), pytest.importorskip("myst_nb.core.read")
    config = importlib.import_module("myst_parser.config.main").MdParserConfig()
    notebook = read.read_myst_markdown_notebook(page.read_text(), config=config, path=str(page))
    monkeypatch.delenv("TRUNDLE_EXAMPLES", raising=False)
    monkeypatch.delenv("MPLBACKEND", raising=False)  # of the suite: notebooks show their pictures
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    outputs = [one for cell in notebook.cells if cell.cell_type == "code" for one in cell.outputs]
    assert any(one.output_type == "display_data" for one in outputs)
    assert any(one.output_type == "stream" and "success" in one.text.lower() for one in outputs)


def test_guides_are_short() -> None:
    lengths = {page.stem: len(page.read_text().splitlines()) for page in (DOCS / "howto").glob("*.md")}
    assert {"shape", "law", "joint", "robot", "system", "policy", "sweep", "export"} <= lengths.keys()
    assert max(lengths.values()) <= 80


@pytest.mark.parametrize("family", FAMILIES)
def test_public_names_of_a_family_are_on_one_page_of_the_reference(family: str) -> None:
    module, text = f"trundle.{family}", "\n".join(page.read_text() for page in (DOCS / "api").glob("*.md"))
    if re.search(rf"automodule:: {module}\n(?!   :no-members:)", text):
        return  # all of them
    (blocks,) = [re.findall(rf"(?:automodule|currentmodule):: {module}\n(.*?)```", text, flags=re.DOTALL)]
    listed = re.findall(r"\.\. auto(?:class|function|data):: (\w+)", "".join(blocks))
    assert sorted(listed) == sorted(importlib.import_module(module).__all__)


def test_files_that_pages_include_exist() -> None:
    for page in PAGES:
        for file in re.findall(r"\{literalinclude\} (\S+)|\{download\}`[^<`]*<([^>]+)>`", page.read_text()):
            assert (page.parent / "".join(file)).is_file(), (page.name, file)


def test_every_page_is_in_the_navigation() -> None:
    entries = [
        (page.parent / f"{entry}.md").resolve()
        for page in PAGES
        for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), flags=re.DOTALL)
        for entry in re.findall(r"^[\w/-]+$", block, flags=re.MULTILINE)
    ]
    assert sorted(entries) == sorted(page.resolve() for page in PAGES if page != DOCS / "index.md")


def test_every_paper_has_an_entry_to_cite() -> None:
    text, entries = (DOCS / "references.md").read_text(), (DOCS / "references.bib").read_text()
    found = dict(re.findall(r"@\w+\{([\w-]+),\s+title\s+= \{(.+?)\},\n", entries))
    papers = re.findall(r"^Paper \d\n: \*\*(.+?)\.\*\*", text, flags=re.MULTILINE)
    assert len(papers) == 5
    assert {title.replace("{", "").replace("}", "") for title in found.values()} > set(papers)
    assert re.search(r"version = \{(.+)\}", entries)[1] == trundle.__version__  # type: ignore[index]


def test_a_limit_stands_on_one_line_with_its_sense(page_module, tmp_path: Path) -> None:
    gap = {"value": 1e-3, "unit": "m", "sense": "<=", "limit": 0.1, "holds": True, "published": None, "source": ""}
    (tmp_path / "summary.json").write_text(json.dumps({"scenario": "ball", "metrics": {"gap": gap}}))
    assert page_module("kept_runs").table(tmp_path).splitlines()[-1] == "| `gap` |  |  | 0.001 m | <=\u00a00.1 |"


@pytest.mark.slow
def test_no_page_is_long() -> None:
    if not BUILT.is_dir():
        pytest.skip("`make docs` has not been run")
    assert {page: height for page, height in heights(BUILT).items() if height > 15_000} == {}  # pixels at 1280
