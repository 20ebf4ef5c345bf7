"""Every module of `bench` imports, so that a benchmark that nobody has run for a while still starts."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in sorted((ROOT / "bench").rglob("*.py"))
    if not path.stem.startswith("__")
]
PACKAGES = {"drake": "pydrake", "mujoco": "mujoco", "pybullet": "pybullet"}
PEERS = {
    f"bench.{folder}.{name}": package for folder in ("peers", "classics.engines") for name, package in PACKAGES.items()
}
PEERS["bench.contacts.siconos_steps"] = "siconos"
"""Modules that need a package which only the extra `bench` or a system's own Python has."""


@pytest.mark.parametrize("name", MODULES)
def test_the_module_imports(name: str) -> None:
    if name in PEERS:
        pytest.importorskip(PEERS[name])
    importlib.import_module(name)


def test_the_excepted_modules_exist() -> None:
    assert set(PEERS) <= set(MODULES)
