"""Judges of linear models: the flow of simulations, and the same scene in other forms, units and mirrors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from scipy.linalg import expm
from scipy.optimize import linear_sum_assignment

import trundle as tr
from bench.model_scenes import PairScene, TreeScene, in_units, made_by, mirrored, random_pair, turned
from bench.model_shapes import Array

Answer = TypeVar("Answer")
FORMS = ("support", "pair", "level", "level-pair", "chart", "support-chart")
STEP = 1e-4
"""Step of differences, in natural sizes: their error is its square."""
AGREE = 2e-3
"""Difference of a flow or of an eigenvalue, over the largest, that counts as none."""


@dataclass(frozen=True)
class Failure:
    """An answer that is wrong: what of, in words, and the script that makes the scene."""

    kind: str
    seed: int
    text: str
    script: str


def made_of(script: str) -> dict[str, Any] | None:
    """Return what a script has made, None if trundle refuses it."""
    made = answered(lambda: made_by(script))
    return None if isinstance(made, tr.InputError) else made


def answered(ask: Callable[[], Answer]) -> Answer | tr.InputError:
    """Return an answer, or the error of input in its place; any other error is one of trundle's."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ask()
    except tr.InputError as error:
        return error


def against_flow(
    seed: int, scene: PairScene | TreeScene, model: Any, start: tr.Start, linear: tr.LinearModel
) -> list[Failure]:
    """Compare a linear model with central differences of simulations from starts that `place` makes."""
    random = np.random.default_rng(seed + 1)
    script = scene.script + f"linear = tr.linearize({'pair' if isinstance(scene, PairScene) else 'tree'}, start)\n"
    X = np.asarray(linear.directions)
    rows = _natural(scene, model.model(start.atlas).layout)
    read = reader(linear.states, model.model(start.atlas).layout, start.x)
    worst = {"of a start beside it is in no coordinate": 0.0, "of its flow differs": 0.0}
    for _ in range(2):
        number = int(random.integers(2**31))
        both = [scene.moved(np.random.default_rng(number), step) for step in (STEP, -STEP)]
        starts = [answered(lambda moved=moved: moved.placed(model)) for moved in both]
        if any(isinstance(one, tr.InputError) or one.atlas != start.atlas for one in starts):
            continue
        first = (starts[0].x - starts[1].x) / (2 * STEP)
        z = read @ first
        missed = float(np.max(np.abs((first - X @ z) / rows)) / max(float(np.max(np.abs(first / rows))), 1e-300))
        worst["of a start beside it is in no coordinate"] = max(
            worst["of a start beside it is in no coordinate"], missed
        )
        differs = _flow_differs(scene, model, starts, linear, read, rows)
        worst["of its flow differs"] = max(worst["of its flow differs"], differs)
    return [Failure("linearize", seed, f"{v:.3g} {what}", script) for what, v in worst.items() if v > AGREE]


def reader(names: tuple[str, ...], layout: Any, x: Array) -> Array:
    """Return P (n, n_x), which reads coordinates with these names off a change of the state `x` (n_x,).

    An orientation in space is read as the vector of the turn: twice the vector part of dq q*.
    """
    P = np.zeros((len(names), len(x)))
    for row, name in zip(P, names, strict=True):
        if name in layout:
            row[layout[name]] = 1.0
            continue
        key, _, part = name.rpartition(".")
        where, planar = layout[key], layout[key].stop - layout[key].start < 4 and part == "z" and "orient" not in key
        if key.endswith("orientation") and where.stop - where.start == 4:
            w, v = x[where][0], x[where][1:]
            i = "xyz".index(part)
            row[where] = 2 * np.concatenate([[-v[i]], w * np.eye(3)[i] + np.cross(np.eye(3)[i], v)])
            continue
        axis = part.removeprefix("angular_").removeprefix("linear_")
        number = int(axis) if axis.isdigit() else "xyz".index(axis)
        if planar and where.stop - where.start == 2:
            number = 1
        row[where.start + number + (3 if part.startswith("linear_") else 0)] = 1.0
    return P


def _natural(scene: PairScene | TreeScene, layout: Any) -> Array:
    """Return the natural size of each entry of the state; endless for coordinates of contacts.

    Those say again what the poses say, or nothing where a contact is apart. In rolling coordinates they are the pose.
    """
    length, time = scene.size, scene.time
    sizes = {"position": length, "velocity": length / time, "rate": 1 / time, "angular_velocity": 1 / time}
    sizes |= {"relative_velocity": 1 / time, "twist": 1 / time, "coordinates": np.inf}
    if "object.spin" in layout:
        sizes["coordinates"] = 1.0
    rows = np.ones(max(where.stop for where in layout.values()))
    for key, where in layout.items():
        rows[where] = sizes.get(key.rpartition(".")[2], 1.0)
    return rows


def _flow_differs(
    scene: PairScene | TreeScene,
    model: Any,
    starts: list[tr.Start],
    linear: tr.LinearModel,
    read: Array,
    rows: Array,
) -> float:
    """Return how much the change of starts by simulations is another than by the linear model, of the largest."""
    still = not np.any(linear.drift) and linear.steady is None
    T = scene.time if still else 0.02 * scene.time
    runs = [tr.simulate(model, start, T, output_step=T / 2) for start in starts]
    if any(run.status.label != "success" or len(run["time"]) < 3 for run in runs):
        return 0.0
    whole = (starts[0].x - starts[1].x) / (2 * STEP)
    z0 = read @ whole
    sampled = [(tr.start_at(runs[0], t).x - tr.start_at(runs[1], t).x) / (2 * STEP) for t in (T / 2, T)]
    if still:
        expected = np.asarray(linear.directions) @ expm(linear.A * T) @ z0
        return float(np.max(np.abs((sampled[1] - expected) / rows)) / float(np.max(np.abs(expected / rows))))
    # Along a motion A changes: its value at the start is the limit of short times.
    slopes = [(read @ (change - whole)) / t for change, t in zip(sampled, (T / 2, T), strict=True)]
    found, A = 2 * slopes[0] - slopes[1], linear.A
    moving = 0.0 if linear.steady is None else read @ np.asarray(linear.steady.slope) @ np.asarray(linear.directions)
    expected = (A + moving) @ z0
    scale = np.abs(A + moving) @ np.abs(z0)
    return float(np.max(np.abs(found - expected) / np.maximum(scale, 1e-2 * np.max(scale)))) * AGREE / 0.02


def against_forms(seed: int, scene: PairScene, linear: tr.LinearModel) -> list[Failure]:
    """Compare eigenvalues with those of all other forms, in rolling coordinates, mirrored, in other units."""
    failures = []
    others = [replace(scene, form=form) for form in FORMS]
    others += [replace(scene, coordinates="rolling"), mirrored(scene), turned(scene)]
    others += [replace(in_units(scene, random_pair(seed, unit=unit)), ignores=True) for unit in (0.05, 1000.0)]
    for other in others:
        made = made_of(other.script)
        if made is None:
            continue
        found = answered(lambda made=made: tr.linearize(made["pair"], made["start"]))
        if isinstance(found, tr.InputError):
            failures.append(Failure("linearize", seed, f"refused in another form: {found}", other.script))
            continue
        difference = spectra_differ(linear.eigenvalues, found.eigenvalues, scene.time)
        if difference > AGREE:
            text = f"eigenvalues differ by {difference:.3g} of the largest from those of the first script"
            failures.append(Failure("linearize", seed, text, scene.script + "\n# and\n" + other.script))
    return failures


def spectra_differ(a: Any, b: Any, time: float) -> float:
    """Return the largest difference of two spectra, of the largest eigenvalue; those that are about zero left out."""
    # A zero that is multiple is found up to the root of round-off.
    a, b = (np.asarray([v for v in np.asarray(values) if abs(v) * time > 1e-2]) for values in (a, b))
    if len(a) != len(b):
        return float("inf")
    if not len(a):
        return 0.0
    cost = np.abs(a[:, None] - b[None])
    return float(cost[linear_sum_assignment(cost)].max() / np.abs(a).max())
