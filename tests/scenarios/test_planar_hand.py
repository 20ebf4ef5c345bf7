"""Scenario files of a hand in the plane: what the file says is what the pair gets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trundle as tr
from tests.scenarios.files import PLANAR_HAND, changed, written
from trundle.scenarios import build, load_scenario


def built(folder: Path, **changes: Any) -> Any:
    return build(load_scenario(written(folder, changed(PLANAR_HAND, **changes))))


def test_the_pair_is_that_of_the_file(tmp_path: Path) -> None:
    hand = {
        "shape": {"type": "fourier", "radius": 0.11, "cos": [0.0, -0.3]},
        "position": [0.1, 0.0, 0.2],
        "angle": 1.5,
        "angular_velocity": 0.3,
        "velocity": [0.4, 0.0, -0.5],
        "motion": {"type": "sinusoid", "amplitude": [1, 2, 3], "frequency": [1, 1, 2]},
    }
    simulation = built(
        tmp_path,
        hand=hand,
        object__inertia=2e-5,
        object__center_of_mass=[0.001, 0, 0.002],
        initial={"contact_on_hand": [0.077, 0, 0], "object_angle": 0.2, "object_angular_velocity": [0, 2.0, 0]},
        simulation__gravity=[0.5, 0.0, -3.0],
    )
    pair = simulation.model
    assert pair.base == tr.Hand(
        tr.FourierRadius(0.11, [0.0, -0.3]),
        position=(0.1, 0.2),
        angle=1.5,
        twist=(0.3, 0.4, -0.5),
        motion=tr.SinusoidMotion([1, 2, 3], [1, 1, 2]),
    )
    assert pair.body.moments == 2e-5
    assert pair.body.center_of_mass == (0.001, 0.002)
    assert pair.gravity == (0.5, -3.0)
    start = pair.place(contact_on_hand=(0.077, 0), object_angle=0.2, object_angular_velocity=-2.0)
    np.testing.assert_array_equal(simulation.initial.x, start.x)


@pytest.mark.parametrize(
    ("word", "per_mass"), [("solid", (0.0377**2 + 0.0252**2) / 4), ("shell", None)], ids=["lamina", "wire"]
)
def test_words_for_the_inertia_of_an_outline(tmp_path: Path, word: str, per_mass: float | None) -> None:
    moments = built(tmp_path, object__inertia=word).model.body.moments
    if per_mass is None:  # a wire's mass is farther out than a lamina's
        assert moments > 0.0553 * (0.0377**2 + 0.0252**2) / 4
    else:
        assert moments == pytest.approx(0.0553 * per_mass, rel=1e-12)


def test_an_angular_velocity_may_be_a_vector_about_minus_y(tmp_path: Path) -> None:
    number, vector = built(tmp_path), built(tmp_path, hand__angular_velocity=[0, -0.2, 0])
    np.testing.assert_array_equal(number.initial.x, vector.initial.x)


@pytest.mark.parametrize(
    ("shape", "at"),
    [
        ({"type": "circle", "radius": 0.2}, [0, 0, 0.2]),
        ({"type": "ellipse", "semi_axes": [0.3, 0.2]}, [0, 0, 0.2]),
        ({"type": "line", "slope": 0.1, "offset": 0.1}, [0, 0, 0.1]),
        ({"type": "parabola", "curvature": 0.5}, [0, 0, 0]),
        ({"type": "sinusoid", "amplitude": 0.01, "wavelength": 1.0}, [0, 0, 0]),
        ({"type": "arc", "radius": 0.5}, [0, 0, -0.5]),
        ({"type": "sum", "terms": [{"type": "line"}, {"type": "parabola", "curvature": 0.5}]}, [0, 0, 0]),
        ({"type": "spline", "file": "ground.csv"}, [0, 0, 0]),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) else None,
)
def test_every_curve_may_be_a_hand(tmp_path: Path, shape: dict[str, Any], at: list[float]) -> None:
    x = np.linspace(-1, 1, 21)
    np.savetxt(tmp_path / "ground.csv", np.stack([x, 0.2 * x**2], axis=1), delimiter=",", header="x,z", comments="")
    simulation = built(tmp_path, hand={"shape": shape}, initial={"contact_on_hand": at}, simulation__duration=0.01)
    run = simulation.run()
    assert run.status.label == "success"
    assert np.abs(run["gap"]).max() < 1e-12


def test_the_motion_may_be_sampled(tmp_path: Path) -> None:
    (tmp_path / "motion.csv").write_text("t,w,vx,vz\n0,0,0,0\n1,1,2,3\n")
    simulation = built(tmp_path, hand__motion={"type": "samples", "file": "motion.csv"})
    assert simulation.model.base.motion.components == 3
    np.testing.assert_array_equal(simulation.model.base.motion.values[1], [1, 2, 3])


def test_leaving_the_plate_ends_the_run(tmp_path: Path) -> None:
    run = built(tmp_path, hand__extent=0.11, initial__object_angular_velocity=-3.0).run()
    assert run.status.label == "off-the-hand"
    assert abs(run["contact_on_hand"][-1, 0]) == pytest.approx(0.055, abs=1e-9)


def test_the_resolved_file_gives_the_same_start(tmp_path: Path) -> None:
    scenario = load_scenario(written(tmp_path, PLANAR_HAND))
    (tmp_path / "again").mkdir()
    again = load_scenario(written(tmp_path / "again", scenario.resolved_toml()))
    np.testing.assert_array_equal(build(again).initial.x, build(scenario).initial.x)
