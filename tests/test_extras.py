"""Hints that install an extra: they work wherever trundle came from, with or without an index."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import pytest

from trundle import extras
from trundle.cli import doctor
from trundle.errors import MissingExtraError
from trundle.extras import command, requirements

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]


def installed(monkeypatch: pytest.MonkeyPatch, origin: object) -> None:
    """Let trundle be installed from somewhere, as `direct_url.json` says it; None: from an index."""
    written = [f'{one}; extra == "{name}"' for name, some in PROJECT["optional-dependencies"].items() for one in some]
    made = SimpleNamespace(
        requires=[*PROJECT["dependencies"], *written], read_text=lambda _: origin and json.dumps(origin)
    )
    monkeypatch.setattr(extras, "distribution", lambda _: made)


def test_from_an_index_or_a_wheel_the_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for origin in (None, {"url": "file:///gone/trundle-1-py3-none-any.whl", "archive_info": {}}, {"url": "https://x"}):
        installed(monkeypatch, origin)
        assert command("sim") == "pip install 'mujoco>=3.1'"
        assert shlex.split(command("data"))[2:] == PROJECT["optional-dependencies"]["data"]


def test_an_extra_that_names_another_brings_its_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, None)
    asked = PROJECT["optional-dependencies"]
    assert requirements("crocoddyl") == [*asked["robots"], *asked["crocoddyl"][1:]]
    assert not any("trundle" in one for one in requirements("all"))
    assert requirements() == PROJECT["dependencies"]


@pytest.mark.parametrize(("editable", "option"), [(True, " -e"), (False, "")])
def test_from_a_folder_that_is_there_the_folder_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, editable: bool, option: str
) -> None:
    folder = tmp_path / "my trundle"
    folder.mkdir()
    installed(monkeypatch, {"url": folder.as_uri(), "dir_info": {"editable": True} if editable else {}})
    assert command("sim") == "pip install 'mujoco>=3.1'"  # not there any more, or not a project
    (folder / "pyproject.toml").touch()
    assert command("sim") == f"pip install{option} '{folder}[sim]'"
    monkeypatch.chdir(folder)
    assert command("sim") == f"pip install{option} '.[sim]'"


def test_sources_on_the_path_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(extras, "distribution", missing)
    monkeypatch.chdir("/")
    assert command("sim") == f"pip install -e '{Path(__file__).parents[1]}[sim]'"


def test_errors_and_doctor_say_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    installed(monkeypatch, None)
    assert str(MissingExtraError("mujoco", "sim")) == "mujoco is not installed: pip install 'mujoco>=3.1'"
    monkeypatch.setattr(doctor, "_version", lambda package: None if package == "mujoco" else "1.0")
    doctor.doctor()
    assert re.search(r"\[sim\] for .*: missing mujoco: pip install 'mujoco>=3.1'\n", capsys.readouterr().out)


def test_doctor_knows_every_extra_of_users() -> None:
    assert set(PROJECT["optional-dependencies"]) - set(doctor.USES) == {"bench", "docs", "dev", "mutants", "all"}
