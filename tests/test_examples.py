"""Examples and the code of the documentation run as they stand, and the examples' checks against closed forms hold."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import trundle
from tests.slowly import slow_but
from trundle.contact.laws import LAWS
from trundle.records import PAIR, tree_view
from trundle.scenarios import schema, schema_shapes

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES, DOCS = ROOT / "examples", ROOT / "docs"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))
SHORT = [script for script in SCRIPTS if script.stem not in ("plan_and_track", "coin_paradox", "learn_to_balance")]
LIMITS = {
    "ball_in_tube": 1e-9,  # m, after 2 s
    "ball_leaves_sphere": 1e-8,  # of a cosine
    "chimney_climb": 1e-9,  # m, along an axis where motion is prescribed
    "coin_paradox": 1e-8,  # turns
    "cycloid": 1e-12,  # m
    "disk_in_bowl": 1e-8,  # relative, of a period read off samples
    "learn_to_balance": 0.05,  # share of new starts from which it falls
    "own_shape": 1e-8,  # relative, of an integral over samples
    "plan_and_track": 1e-4,  # m, of the plan replayed
    "push_off_wall": 1e-8,  # N s, of the momentum
    "rolling_step": 1e-9,  # N m, of the torques by another multibody code
    "sliding_ball": 1e-6,  # relative, of the instant
    "square_wheel": 1e-7,  # m, of a road measured at sixty points a bump
    "sustained_pull": 1e-4,  # m, of the centre of pressure once it is settled
    "terrain_profile": 1e-5,  # rad, of a length summed over samples
    "three_wheels": 1e-9,  # relative, of the energy that moves
    "wobbling_coin": 1e-7,  # relative, of an unstable-looking but steady rate
}


NEEDS = {"rolling_step": "crocoddyl"}  # packages that the suite does without


def loaded(script: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{script.stem}", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_has_a_limit() -> None:
    assert [script.stem for script in SCRIPTS] == sorted(LIMITS)


@pytest.mark.parametrize("script", slow_but(SCRIPTS, *SHORT), ids=lambda one: one.stem)
def test_example_agrees_with_its_closed_form(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if script.stem in NEEDS:
        pytest.importorskip(NEEDS[script.stem])
    error = loaded(script).main()
    said = capsys.readouterr().out
    assert type(error) is float
    assert 0.0 <= error < LIMITS[script.stem]
    assert f"{error:.1e}" in said
    assert "nan" not in said


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_example_is_short_uses_public_names_and_says_its_units(script: Path) -> None:
    text = script.read_text()
    assert len(text.splitlines()) <= 80
    assert "import trundle as tr\n" in text
    assert "from trundle" not in text
    assert set(re.findall(r"\btr\.(\w+)", text)) <= {*trundle.__all__, *trundle._FAMILIES}
    assert re.search(r"# .*\bm\b", text)


@pytest.mark.slow
def test_an_arm_pushes_a_cart_off_a_wall_it_was_not_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    error = loaded(EXAMPLES / "push_off_wall.py").main()
    numbers = [re.findall(r"-?[0-9.]+", line) for line in capsys.readouterr().out.splitlines()[:4:2]]
    (nearest, _, alone, nothing), (arm_nearest, _, arm, push) = ([float(n) for n in row] for row in numbers)
    assert error < 1e-8  # N s
    assert nothing == 0.0
    assert 20.0 < push <= 80.0
    assert arm > alone + 0.5
    assert nearest < arm_nearest


def test_an_example_runs_as_a_script_and_writes_only_the_picture_asked_for(tmp_path: Path) -> None:
    command = [sys.executable, EXAMPLES / "cycloid.py", "--plot", "picture.png"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True)
    assert "largest distance from the cycloid" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["picture.png"]
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_the_measured_path_runs_from_its_file_too(tmp_path: Path) -> None:
    result = trundle.run(EXAMPLES / "terrain_profile.toml", tmp_path / "run", plots=False)
    assert result.status is trundle.Status.SUCCESS
    assert result.trajectory is not None
    assert result.trajectory.feasible
    assert (tmp_path / "run" / "data" / "profile.csv").read_bytes() == (EXAMPLES / "data" / "profile.csv").read_bytes()


def test_the_driven_cart_runs_from_its_file(tmp_path: Path) -> None:
    scenario = trundle.load_scenario(EXAMPLES / "three_wheels_driven.toml", ["simulation.duration=0.3"])
    result = trundle.run(scenario, tmp_path / "run", plots=False)
    assert result.status is trundle.Status.SUCCESS
    assert result.summary["feasible"]
    assert result.summary["metrics"]["ticks_unsolved"]["value"] == 0


@pytest.fixture
def run_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the cells of a page in a folder of their own and returns the names they define."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(Markdown=str))  # not needed to test

    def run(name: str, until: str = "\0") -> dict[str, Any]:
        cells = re.findall(
            r"^```\{code-cell\} ipython3\n(?::[^\n]*\n)?(.*?)^```$",
            (DOCS / name).read_text().split(until)[0],
            flags=re.MULTILINE | re.DOTALL,
        )
        names: dict[str, Any] = {}
        exec("\n".join(cells), names)
        return names

    return run


def test_the_bicycle_of_the_documentation_has_the_published_eigenvalues(run_page: Any) -> None:
    names = run_page("robot.md", until="## Roll")
    published = [-14.07838969279822, -0.77534188219585 - 4.46486771378823j, -0.77534188219585 + 4.46486771378823j]
    np.testing.assert_allclose(names["eigenvalues"](5.0), [*published, -0.32286642900409], rtol=1e-9)
    assert names["unstable"][:8] == [1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 6.5]


@pytest.mark.slow
def test_the_bicycle_of_the_documentation_steadies_itself(run_page: Any) -> None:
    run = run_page("robot.md", until="## Loops")["run"]
    assert run.status is trundle.Status.SUCCESS
    assert abs(run["joint_position"][-1, 0]) < 0.03 * abs(run["joint_position"][:, 0]).max()
    np.testing.assert_allclose(run["energy"], run["energy"][0], rtol=1e-11)


@pytest.mark.slow
def test_own_shapes_of_the_documentation_roll(run_page: Any, capsys: pytest.CaptureFixture[str]) -> None:
    names = run_page("tutorials/own-shape.md")
    assert names["run"].status is trundle.Status.SUCCESS
    said = capsys.readouterr().out
    assert "level Status.SUCCESS True" in said
    assert "chart Status.SUCCESS True" in said
    assert "must be convex" in said


def test_every_status_and_transition_is_explained(run_page: Any) -> None:
    names = run_page("endings.md")
    assert {reason for reason, _ in names["TRANSITIONS"].values()} == set(names["NEXT"])
    assert {margin for _, margin, _ in names["MARGINS"]} == set(names["WATCHED"])
    codes = {status: names["exit_code"](status) for status in trundle.Status}
    assert {s for s, code in codes.items() if code == 0} == {trundle.Status.SUCCESS, trundle.Status.REST}
    assert codes[trundle.Status.INTERRUPTED] == 130


def test_the_files_of_a_run_are_the_documented_ones(run_page: Any, tmp_path: Path) -> None:
    names = run_page("files.md")
    text = (DOCS / "files.md").read_text()
    written = {path.relative_to(tmp_path / "plate").parts[0] for path in (tmp_path / "plate").rglob("*")}
    assert written
    assert all(f"`{re.sub('trajectory-.*.nc', 'trajectory-NAME.nc', name)}" in text for name in written)
    assert "| `object_position` |" in names["variables"](PAIR)
    assert "| `body_angle` |" in names["variables"](tree_view(2))


def test_the_accuracy_page_prints_what_it_promises(run_page: Any, capsys: pytest.CaptureFixture[str]) -> None:
    names = run_page("accuracy.md")
    assert names["result"].status is trundle.Status.SUCCESS
    errors = [float(e) for e in re.findall(r"off the circle by (\S+) m", capsys.readouterr().out)]
    assert len(errors) == 4
    assert errors[-1] < 1e-12 < errors[0] < 1e-6


def test_the_guide_to_rolling_feet_solves_a_step(
    run_page: Any, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    pytest.importorskip("pinocchio")
    monkeypatch.setenv("TRUNDLE_EXAMPLES", str(EXAMPLES))
    names = run_page("pinocchio.md")
    assert names["found"].stats()["return_status"] == "Solve_Succeeded"
    assert names["slip"] < 2e-3
    assert max(abs(r.gap[0]) for r in names["solved"]) < 1e-3
    assert np.abs(names["rows"].bias - names["fixed"]).max() > 0.01
    said = capsys.readouterr().out
    assert "not run: Crocoddyl" in said or "found True" in said


@pytest.mark.slow
def test_the_guide_to_linear_models_learns_to_balance(run_page: Any, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("gymnasium")
    names = run_page("linear.md")
    rewards = [float(one) for one in re.findall(r"of 75 steps: (\S+)", capsys.readouterr().out)]
    assert rewards[0] < 40.0
    assert rewards[-1] > 70.0
    assert names["stands"].sum() > 30
    assert names["circle"].status is trundle.Status.SUCCESS


def test_the_guide_to_control_tunes_a_regulator(run_page: Any, capsys: pytest.CaptureFixture[str]) -> None:
    names = run_page("tutorials/regulator.md")
    np.testing.assert_allclose(sorted(names["linear"].eigenvalues.real)[1:4], 0.0, atol=1e-6)
    said = capsys.readouterr().out
    settled = [float(t) for t in re.findall(r"within 2 cm after (\S+) s", said)]
    torques = [float(u) for u in re.findall(r"torque up to (\S+) N m", said)]
    assert settled == sorted(settled, reverse=True)
    assert torques == sorted(torques)
    far, near = (float(lean) for lean in re.findall(r"N m: up to (\S+) rad", said))
    assert far > near > 0.1
    assert said.count("success") == 1 + 3


def test_the_guide_to_policies_has_one_that_remembers(run_page: Any, capsys: pytest.CaptureFixture[str]) -> None:
    names = run_page("howto/policy.md")
    assert capsys.readouterr().out.count("success") == 2
    assert names["run"].status is trundle.Status.SLIPPED


@pytest.mark.slow
@pytest.mark.parametrize(("page", "off"), [("law", 1e-9), ("joint", 1e-9), ("shape", 1.0), ("robot", 1.0)])
def test_what_guides_add_from_outside_works(
    run_page: Any, page: str, off: float, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_page(f"howto/{page}.md")["run"]
    LAWS.pop("greased", None)
    assert run.status is trundle.Status.SUCCESS
    assert run.feasible
    assert all(float(number) < off for number in re.findall(r"off by (\S+)", capsys.readouterr().out))


def test_the_guide_to_mujoco_compares_a_scene(run_page: Any, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mujoco")
    names = run_page("mujoco.md")
    assert names["model"].body("object").mass.tolist() == [0.2]
    assert names["found"].rows[-1].path < 0.01
    assert "| mujoco | 1 |" in capsys.readouterr().out
    assert len(names["ax"].child_axes) == 4


def test_every_key_of_a_scenario_file_is_documented() -> None:
    text = "\n".join(page.read_text() for page in [DOCS / "scenarios.md", *(DOCS / "scenarios").glob("*.md")])
    tables = [t for t in vars(schema_shapes).values() if isinstance(t, type) and issubclass(t, schema.Table)]
    for table in tables:
        keys = set(table.model_fields) - {"type"}
        if "type" in table.model_fields:
            (kind,) = table.model_fields["type"].annotation.__args__
            rows = re.findall(rf"^\| `{kind}` \|(.*)\|$", text, flags=re.MULTILINE)
            assert any(all(f"`{key}`" in row for key in keys) for row in rows), (kind, keys)
    for known, task in [(one, task) for one in schema.kinds() for task in schema.tasks(one)]:
        for name, table in schema.schema_for(known, task).model_fields.items():
            alias = table.alias or name
            assert re.search(
                rf"^(\[{{1,2}}(parts\.\w+\.)?{alias}[\].]|\[{alias}\.|{alias} = )", text, flags=re.MULTILINE
            ), alias
