"""What paper 4 (Mane and Hubicki) prints wrongly beside the rows of (13), for which see tests/test_oracles.py."""

from __future__ import annotations

import numpy as np

import trundle as tr
from tests.oracles import curves, five, planar
from trundle.scenarios import build, load_scenario

CASE = curves.ellipse(0.25, 0.12), curves.sinusoid(0.06, 2.0)


def five_coordinates(rows: str) -> tuple[five.FiveCoordinates, np.ndarray, np.ndarray]:
    """The model and a start on its constraints; the printed rows need curves that run against each other."""
    body, terrain = CASE
    phi, p = planar.Rolling(body, terrain, 1.0, 0.02).find(0.3, 0.4)
    outline, at = (body.reversed(), -phi) if rows == "printed" else (body, phi)
    model = five.FiveCoordinates(outline, terrain, 1.0, 0.02, rows)
    return model, *model.start(at, p, 0.5)


def test_root_of_5_is_violated_by_a_wheel_that_rolls_back_past_its_start() -> None:
    r, slope = 0.2, 0.3
    wheel = planar.Rolling(curves.circle(r), curves.line(slope), 1.0, 0.02)
    phi, p = wheel.find(0.0, 0.0)
    run = wheel.run(phi, p, wheel.speed(phi, p, -4.0), 1.5, np.linspace(0.0, 1.5, 31))
    moved = np.array([look["position"] for look in run["looks"]])
    moved, turned = moved - moved[0], run["y"][0, 3] - run["y"][:, 3]  # m; rad, clockwise as there
    along = moved @ np.array([1.0, slope]) / np.hypot(1.0, slope)
    assert along.max() > 0.05
    assert along.min() < -0.05
    np.testing.assert_allclose(along - r * turned, 0.0, atol=1e-9)
    printed = np.hypot(*moved.T) - r * turned
    np.testing.assert_allclose(printed[along > 0], 0.0, atol=1e-9)
    np.testing.assert_allclose(printed[along < 0], -2 * along[along < 0], atol=1e-9)


def test_jacobian_of_14_is_of_coordinates_not_of_rates() -> None:
    """Of h alone only the closure has no integral; it does not depend on rates, so d h/d q' = 0."""
    model, q, qd = five_coordinates("cross")

    def closure(q: np.ndarray) -> np.ndarray:
        return q[:2] + planar.turn(q[2]) @ model.body.at(q[3])[0] - model.terrain.at(q[4])[0]

    h = 1e-6
    slopes = np.array([(closure(q + h * e) - closure(q - h * e)) / (2 * h) for e in np.eye(5)]).T
    np.testing.assert_allclose(model.constraint(q, qd)[0][2:], slopes, atol=1e-8)
    np.testing.assert_allclose(closure(q), 0.0, atol=1e-14)


def test_what_the_printed_rows_leave_open_has_no_kinetic_energy() -> None:
    """So not every motion has kinetic energy, as the paper says; the body's accelerations are unique still."""
    model, q, qd = five_coordinates("printed")
    matrix = model.matrix(q, qd)
    left = np.linalg.svd(matrix)[2][-2:]
    np.testing.assert_allclose(matrix @ left.T, 0.0, atol=1e-12)
    motions = left[:, :5]
    np.testing.assert_allclose(motions[:, :3], 0.0, atol=1e-12)
    assert np.abs(motions[:, 3:]).max() > 0.1  # the contact slides along both curves
    exact = five_coordinates("cross")
    np.testing.assert_allclose(model.acceleration(q, qd)[:3], exact[0].acceleration(*exact[1:])[:3], rtol=1e-9)


def test_from_the_papers_start_our_ground_would_have_to_pull() -> None:
    def status(x: float) -> tr.Status:
        scenario = load_scenario("rock-undulating", ["simulation.duration=1.5", f"initial.contact_x={x}"])
        return next(iter(build(scenario).parts())).run(None).status

    assert [status(1.5), status(3.0)] == [tr.Status.SUCCESS, tr.Status.SEPARATED]
