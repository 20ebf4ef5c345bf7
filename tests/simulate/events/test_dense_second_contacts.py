"""Second contacts of random ellipses on random terrain, against a dense search that shares nothing with the watch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

import trundle as tr
from trundle.simulate.events.contact_detection import PairDetector
from trundle.simulate.events.exclusion import Exclusion

PHI = np.linspace(0, 2 * np.pi, 3000, endpoint=False)
AWAY = 0.1
"""Parameter (rad) of the outline around the contact in which the dense search does not look."""


class Case(NamedTuple):
    axes: tuple[float, float]
    amplitude: float
    wavelength: float
    pair: tr.RollingPair
    start: tr.Start

    def run(self, duration: float = 0.6, output_step: float = 1e-3) -> tr.Trajectory:
        return tr.simulate(self.pair, self.start, duration, output_step=output_step, relative_tolerance=1e-12)

    def heights(self, phi: np.ndarray | float, place: np.ndarray) -> np.ndarray:
        """Height (m) of the outline's points over the terrain, the body at (x, z, angle)."""
        x, z, angle = place
        along, across = self.axes[0] * np.cos(phi), self.axes[1] * np.sin(phi)
        at = x + along * np.cos(angle) - across * np.sin(angle)
        terrain = self.amplitude * np.sin(2 * np.pi * at / self.wavelength)
        return z + along * np.sin(angle) + across * np.cos(angle) - terrain


def random_cases(seed: int, starts: int) -> Iterator[Case]:
    """An ellipse on a terrain, from several places where it touches at one point."""
    rng = np.random.default_rng(seed)
    a, amplitude, wavelength = (float(v) for v in rng.uniform((0.15, 0.05, 0.6), (0.3, 0.09, 0.9)))
    axes = (a, a * float(rng.uniform(0.4, 0.8)))
    body = tr.RigidBody(tr.Ellipse(semi_axes=axes), 1.0, 0.02)
    ground = tr.Ground(tr.Sinusoid(amplitude, wavelength, 0.0))
    pair = tr.RollingPair(body, ground, friction=5.0, on_slip="ignore", on_separation="ignore")
    while starts:
        try:
            start = pair.place(contact_x=float(rng.uniform(0, wavelength)), angle=float(rng.uniform(-1, 1)))
        except tr.InputError:  # too large for the hollow there
            continue
        starts -= 1
        yield Case(axes, amplitude, wavelength, pair, start)


def dense_search(case: Case) -> float | None:
    """First time at which a run on one contact alone enters the terrain somewhere else."""
    run = case.run()
    places = np.column_stack([run["body_position"][:, 0], run["body_angle"][:, 0]])
    contact = run["contact_position"][:, 0]

    def lowest(k: int) -> float | None:
        x, z, angle = places[k]
        r = contact[k] - (x, z)
        along, across = r @ (np.cos(angle), np.sin(angle)), r @ (-np.sin(angle), np.cos(angle))
        known = np.arctan2(across / case.axes[1], along / case.axes[0])
        away = np.abs((PHI - known + np.pi) % (2 * np.pi) - np.pi) > AWAY
        heights = case.heights(PHI, places[k])
        minima = away & (heights <= np.roll(heights, 1)) & (heights <= np.roll(heights, -1))
        return float(PHI[minima][np.argmin(heights[minima])]) if np.any(minima) else None

    def height(place: np.ndarray, phi: float) -> float:
        near = (phi - 0.02, phi + 0.02)
        return float(minimize_scalar(lambda p: case.heights(p, place), bounds=near, options={"xatol": 1e-10}).fun)

    def height_at(t: float, phi: float) -> float:
        end = case.run(t, t)
        return height(np.array([*end["body_position"][-1, 0], end["body_angle"][-1, 0]]), phi)

    for k in range(1, len(run.time)):
        phi = lowest(k)
        if phi is not None and height(places[k], phi) < 0:
            return float(brentq(height_at, run.time[k - 1], run.time[k], args=(phi,), xtol=1e-9))
    return None


@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 20), marks=pytest.mark.slow)])
def test_the_watch_finds_what_a_dense_search_finds(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    found = 0
    cases = [(seed, case) for seed in seeds for case in random_cases(seed, 4)]
    for seed, case in cases:
        run = case.run()
        with monkeypatch.context() as blind:
            blind.setattr(PairDetector, "_exclusion", Exclusion(0.0, always=True, size=1.0))
            wanted = dense_search(case)
        touches = [note["time"] for note in run.transitions if note["reason"] == "the gap closed"]
        assert touches[:1] == ([] if wanted is None else [pytest.approx(wanted, abs=1e-6)]), seed
        found += wanted is not None
    assert found >= len(cases) // 3
