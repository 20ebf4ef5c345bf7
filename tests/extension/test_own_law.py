"""A contact law from outside: rows, wrench and margins, made known by its name, in pairs and robots."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from trundle.contact.contact import Kinematics
from trundle.contact.laws import LAWS, Friction, Law, Rows, no_rows, register
from trundle.errors import InputError
from trundle.report.metrics import general

G, SLOPE = 9.81, 0.3


@dataclass(frozen=True)
class Greased(Law):
    """No friction: one row along the normal; it ends where the points slip at 1 m/s."""

    name = "greased"
    slipping = True
    endings = {"speed": tr.Status.OFF_THE_HAND}  # noqa: RUF012

    def rows(self, k: Kinematics, friction: Friction) -> Rows:
        b, v = ca.dot(k.n, k.bias) + ca.dot(k.ndot, k.vrel), ca.dot(k.n, k.vrel)
        return Rows(k.n.T @ k.LA, k.n.T @ k.LB, b, v, ca.dot(k.n, k.gap))

    def wrench(self, k: Kinematics, lam: ca.SX, friction: Friction) -> tuple[ca.SX, ca.SX]:
        return k.n * lam, ca.SX(1, 1)

    def margins(self, k: Kinematics, lam: ca.SX, friction: Friction) -> dict[str, ca.SX]:
        return {"normal_force": lam, "speed": 1.0 - ca.sumsqr(k.vrel)}


@pytest.fixture(autouse=True)
def _greased() -> Iterator[None]:
    register(Greased())
    yield
    del LAWS["greased"]


def ball(law: str) -> tr.RollingPair:
    body = tr.RigidBody(tr.Sphere(radius=0.1), mass=0.5, inertia="solid")
    return tr.RollingPair(body, tr.Hand(tr.Plane(), rpy=(0.0, SLOPE, 0.0)), law=law, friction=5.0)


@pytest.mark.parametrize(("law", "part"), [("greased", 1.0), ("rolling", 5 / 7)])
def test_a_greased_ball_slides_down_without_turning(law: str, part: float) -> None:
    pair = ball(law)
    run = tr.simulate(pair, pair.place(contact_on_hand=[0, 0, 0]), duration=0.2, output_step=0.01)
    down = np.array([np.cos(SLOPE), 0.0, -np.sin(SLOPE)])
    travel = (run["object_position"] - run["object_position"][0]) @ down
    np.testing.assert_allclose(travel, part * G * np.sin(SLOPE) * run.time**2 / 2, atol=1e-9)
    assert set(run["mode"].tolist()) == {law}
    if law == "greased":
        np.testing.assert_allclose(run["object_angular_velocity"], 0.0, atol=1e-12)
        np.testing.assert_allclose(np.ptp(run["energy"]), 0.0, atol=1e-9)


def test_its_slip_is_no_fault_of_rolling() -> None:
    pair = ball("greased")
    run = tr.simulate(pair, pair.place(contact_on_hand=[0, 0, 0]), duration=0.2)
    assert np.linalg.norm(run["object_velocity"][-1]) > 0.5
    assert general(run)["slip"] == 0.0
    del LAWS["greased"]  # the record of a law that the reader does not know
    assert general(run)["slip"] == 0.0
    register(Greased())


def test_a_law_may_have_a_friction_margin_without_a_normal_force() -> None:
    @dataclass(frozen=True)
    class Timid(Greased):
        name = "timid"

        def margins(self, k: Kinematics, lam: ca.SX, friction: Friction) -> dict[str, ca.SX]:
            return {"friction": 0.25 - ca.sumsqr(k.vrel)}

    register(Timid())
    try:
        pair = ball("timid")
        run = tr.simulate(pair, pair.place(contact_on_hand=[0, 0, 0]), duration=2.0)
    finally:
        del LAWS["timid"]
    assert run.status is tr.Status.SLIPPED
    assert run.time[-1] == pytest.approx(0.5 / (G * np.sin(SLOPE)), abs=1e-6)


def test_what_its_own_margin_ends_has_the_status_the_law_gives() -> None:
    pair = ball("greased")
    run = tr.simulate(pair, pair.place(contact_on_hand=[0, 0, 0]), duration=2.0, output_step=0.01)
    assert run.status is tr.Status.OFF_THE_HAND
    assert run.time[-1] == pytest.approx(1.0 / (G * np.sin(SLOPE)), abs=1e-6)


def test_a_greased_wheel_in_the_plane_flies_off_a_hill() -> None:
    # A point on a circle leaves it where cos(angle from the top) = 2/3 (from rest at the top, no friction).
    robot = tr.Robot(G, law="greased", on_separation="stop")
    robot.free(1e-2, 1e-6, shape=tr.Circle(0.001), name="bead")
    robot.terrain(tr.Circle(0.0299))
    tree = robot.finish()
    a = 0.05
    start = tree.place(bead=(0.0309 * np.sin(a), 0.0309 * np.cos(a), 0.0))
    run = tr.simulate(tree, start, duration=1.0, output_step=0.001)
    assert run.status is tr.Status.SEPARATED
    x, z = run["body_position"][-1, 0]
    assert z / np.hypot(x, z) == pytest.approx(2 / 3 * np.cos(a), abs=1e-6)


def test_names_of_laws_are_checked() -> None:
    class Rolling(Greased):
        name = "rolling"

    class Long(Greased):
        name = "a law with a long name"

    class Nameless(Greased):
        name = ""

    for law in (Rolling(), Long(), Nameless(), "greased"):
        with pytest.raises(InputError, match="law"):
            register(law)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="'rolling', 'pure-rolling', 'greased'"):
        ball("oiled")


def test_a_law_that_gives_a_force_alone_is_a_spring() -> None:
    @dataclass(frozen=True)
    class Springy(Law):
        name = "springy"
        slipping = True
        distant = True

        def rows(self, k: Kinematics, friction: Friction) -> Rows:
            pushed = friction.stiffness * ca.fmax(-k.distance, 0)
            return no_rows(k, ca.vertcat(ca.SX(k.wrel.shape[0], 1), pushed * k.n))

        def wrench(self, k: Kinematics, lam: ca.SX, friction: Friction) -> tuple[ca.SX, ca.SX]:
            return friction.stiffness * ca.fmax(-k.distance, 0) * k.n, ca.SX(1, 1)

        def margins(self, k: Kinematics, lam: ca.SX, friction: Friction) -> dict[str, ca.SX]:
            return {}

    register(Springy())
    try:
        body = tr.RigidBody(tr.Sphere(radius=0.1), mass=0.5, inertia="solid")
        pair = tr.RollingPair(body, tr.Hand(tr.Plane()), law="springy", stiffness=2000.0)
        run = tr.simulate(pair, pair.place(contact_on_hand=[0, 0, 0]), duration=0.2, output_step=0.01)
    finally:
        del LAWS["springy"]
    sag = 0.5 * G / 2000.0 * (1 - np.cos(np.sqrt(2000.0 / 0.5) * run.time))
    np.testing.assert_allclose(run["object_position"][:, 2], 0.1 - sag, atol=1e-7)
    assert set(run["mode"].tolist()) == {"springy"}
