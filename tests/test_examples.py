"""Every example runs as it stands, and its check against the closed form holds."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import trundle

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))
LIMITS = {
    "ball_in_tube": 1e-9,  # m, after 2 s
    "ball_leaves_sphere": 1e-8,  # of a cosine
    "coin_paradox": 1e-8,  # turns
    "cycloid": 1e-12,  # m
    "disk_in_bowl": 1e-8,  # relative, of a period read off samples
    "own_shape": 1e-8,  # relative, of an integral over samples
    "sliding_ball": 1e-6,  # relative, of the instant
    "terrain_profile": 1e-5,  # rad, of a length summed over samples
    "wobbling_coin": 1e-7,  # relative, of an unstable-looking but steady rate
}


def loaded(script: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{script.stem}", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_has_a_limit() -> None:
    assert [script.stem for script in SCRIPTS] == sorted(LIMITS)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_example_agrees_with_its_closed_form(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
    assert set(re.findall(r"\btr\.(\w+)", text)) <= set(trundle.__all__)
    assert re.search(r"# .*\bm\b", text)


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
