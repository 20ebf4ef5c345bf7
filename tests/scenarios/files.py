"""Scenario files for the tests: minimal ones of each kind, written where a test wants them."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

EXAMPLES = Path(__file__).parents[2] / "examples"
JUGGLING: dict[str, Any] = {
    "kind": "juggling",
    "task": "simulate",
    "object": {"shape": {"type": "sphere", "radius": 0.2}, "mass": 0.1},
    "hand": {"shape": {"type": "plane"}},
}
PLANAR: dict[str, Any] = {
    "kind": "planar",
    "task": "simulate",
    "body": {"curve": {"type": "ellipse", "semi_axes": [0.25, 0.12]}, "mass": 1.0, "inertia": 0.02},
    "terrain": {"curve": {"type": "sinusoid", "amplitude": 0.06, "wavelength": 0.8}},
}

PLANAR_HAND: dict[str, Any] = {
    "kind": "juggling",
    "task": "simulate",
    "object": {"shape": {"type": "ellipse", "semi_axes": [0.0377, 0.0252]}, "mass": 0.0553},
    "hand": {"shape": {"type": "line"}, "extent": 0.375, "angle": 0.05, "angular_velocity": 0.2},
    "initial": {"contact_on_hand": [0.05, 0.0, 0.0], "object_angle": 0.1, "object_angular_velocity": -0.5},
    "simulation": {"duration": 0.4},
}


def changed(base: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return a copy of `base`; ``object__mass=1`` sets key `mass` of table `object`, a value of None removes it."""
    data = copy.deepcopy(base)
    for path, value in changes.items():
        *tables, key = path.split("__")
        table = data
        for step in tables:
            table = table.setdefault(step, {})
        if value is None:
            table.pop(key)
        else:
            table[key] = value
    return data


def written(folder: Path, data: dict[str, Any] | str | bytes, name: str = "my.toml") -> Path:
    """Write `data` as a scenario file and return its path."""
    path = folder / name
    if isinstance(data, bytes):
        path.write_bytes(data)
    else:
        path.write_text(data if isinstance(data, str) else tomli_w.dumps(data), encoding="utf-8")
    return path


ROLL: dict[str, Any] = {
    "kind": "juggling",
    "task": "transfer",
    "object": {"shape": {"type": "circle", "radius": 0.02}, "mass": 0.1},
    "hand": {"shape": {"type": "line"}, "extent": 0.4},
    "contact": {"friction": 0.8},
    "goal": {"contact_on_hand": [0.03, 0.0, 0.0]},
    "plan": {"duration": 0.6, "nodes": 8},
    "controller": {"period": 0.005, "hold": 0.1},
    "simulation": {"output_step": 0.01, "duration": 0.7, "relative_tolerance": 1e-8},
}
"""A disc carried 30 mm along a plate: a plan that takes a second."""

STILL: dict[str, Any] = {
    "kind": "juggling",
    "task": "balance",
    "object": {"shape": {"type": "ellipse", "semi_axes": [0.0377, 0.0252]}, "mass": 0.0553},
    "hand": {"shape": {"type": "line"}, "extent": 0.375},
    "initial": {"object_angle": 0.1},
    "goal": {"contact_on_hand": [0.0, 0.0, 0.0], "object_angle": 0.0},
    "controller": {"period": 0.005},
    "simulation": {"output_step": 0.01, "duration": 0.3, "relative_tolerance": 1e-8},
}
"""An ellipse that rocks on a plate and is to be stilled."""


def on_profile(folder: Path, text: str, reverse: bool = False) -> Path:
    """Write a scenario file and, beside it, the measured ground ``profile.csv``, given to the left if `reverse`."""
    x = np.linspace(-3, 5, 161)[:: -1 if reverse else 1]
    rows = "\n".join(f"{a:.4f},{0.02 * np.sin(4 * a) + 0.01 * np.cos(7 * a):.6f}" for a in x)
    (folder / "profile.csv").write_text("x,z\n" + rows)
    (folder / "tree.toml").write_text(text)
    return folder / "tree.toml"


def own_robot(folder: Path, old: str = "", new: str = "") -> Path:
    """Write the walk of Romeo with a file of the robot of its own, `old` in it replaced by `new`; return the walk's."""
    robot = (EXAMPLES / "data" / "romeo.toml").read_text(encoding="utf-8")
    assert old in robot
    (folder / "mine.toml").write_bytes(robot.replace(old, new).encode("latin-1") if old else robot.encode())
    walk = (EXAMPLES / "romeo_walk.toml").read_text(encoding="utf-8")
    return written(folder, walk.replace("data/romeo.toml", "mine.toml"))
