"""Rolling feet in Crocoddyl: accelerations against Pinocchio's, derivatives against differences."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import trundle as tr
from trundle.checks import FloatArray
from trundle.extras import command
from trundle.interop.crocoddyl import FootEvaluation, cone_residual, contact_model
from trundle.interop.pinocchio import RollingFeet

pin = pytest.importorskip("pinocchio")

HOPPER = tr.load_urdf(Path(__file__).resolve().parents[2] / "examples" / "hopper.urdf")
SOLE = tr.Ellipsoid([0.06, 0.03, 0.02])
GROUNDS = {"flat": (tr.Plane(), 0.0), "ball": (tr.Ellipsoid([2.0, 3.0, 1.5]), 1.5)}
LAWS = ("rolling", "pure-rolling")
GAINS = (30.0, 10.0)


def biped(ground: str, law: str) -> tuple[RollingFeet, FloatArray, FloatArray]:
    """The feet, a configuration off the ground and a velocity that slips."""
    feet = {
        "left": tr.Foot(SOLE, "left_shank", (0.0, 0.01, -0.25), (0.1, 0.2, 0.3), law, friction=0.6),
        "right": tr.Foot(tr.Sphere(0.03), "right_shank", (0.0, 0.0, -0.25), law=law),
    }
    rolling, rng = RollingFeet(HOPPER, feet, GROUNDS[ground][0]), np.random.default_rng(1)
    q = pin.integrate(rolling.model, rolling.neutral, np.r_[0.05 * rng.normal(size=3), 0.2 * rng.normal(size=9)])
    q[2] += GROUNDS[ground][1] + 0.52
    return rolling, q, rng.normal(size=12)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("ground", GROUNDS)
def test_an_evaluation_is_differentiated_as_crocoddyl_asks(ground: str, law: str) -> None:
    """The same quantities without Crocoddyl: it is optional, and this runs where it is missing."""
    feet, q, v = biped(ground, law)
    model, data, foot, h = feet.model, feet.model.createData(), feet.contacts[0], 1e-6
    rng = np.random.default_rng(4)
    a, force = rng.normal(size=12), 10 * rng.normal(size=foot.touch.size)

    def at(q: FloatArray, v: FloatArray, a: FloatArray) -> FootEvaluation:
        pin.computeForwardKinematicsDerivatives(model, data, q, v, a)
        pin.computeJointJacobians(model, data, q)
        return FootEvaluation(foot, np.array(GAINS), data)

    def torques(q: FloatArray, local: pin.Force) -> FloatArray:
        at(q, v, a)
        return -pin.getJointJacobian(model, data, foot.joint, pin.LOCAL).T @ local.vector

    def differences(f: object) -> FloatArray:
        ends = [(f(pin.integrate(model, q, h * e)), f(pin.integrate(model, q, -h * e))) for e in np.eye(12)]  # type: ignore[operator]
        return np.stack([(after - before) / (2 * h) for after, before in ends], axis=-1)

    slopes = at(q, v, a).slopes()
    by_v = np.stack([(at(q, v + h * e, a).rows()[1] - at(q, v - h * e, a).rows()[1]) / (2 * h) for e in np.eye(12)], -1)
    np.testing.assert_allclose(slopes[:, :12], differences(lambda q: at(q, v, a).rows()[1]), atol=2e-6)
    np.testing.assert_allclose(slopes[:, 12:], by_v, atol=2e-6)
    J, a0 = at(q, v, np.zeros(12)).rows()
    np.testing.assert_allclose(J @ a + a0, at(q, v, a).rows()[1], atol=1e-12)
    local, slope = at(q, v, a).push_joint(force)
    np.testing.assert_allclose(torques(q, local), -J.T @ force, atol=1e-12)
    fixed = differences(lambda q: torques(q, at(q, v, a).push_joint(force)[0])) - differences(
        lambda q: torques(q, local)
    )
    np.testing.assert_allclose(slope, fixed, atol=2e-6)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("ground", GROUNDS)
def test_contact_dynamics_and_their_derivatives(ground: str, law: str) -> None:
    crocoddyl = pytest.importorskip("crocoddyl")
    feet, q, v = biped(ground, law)
    model, state = feet.model, crocoddyl.StateMultibody(feet.model)
    drives = crocoddyl.ActuationModelFloatingBase(state)
    contacts, costs = crocoddyl.ContactModelMultiple(state, drives.nu), crocoddyl.CostModelSum(state, drives.nu)
    for name in ("left", "right"):
        contacts.addContact(name, contact_model(state, feet, name, drives.nu, GAINS))
        residual = cone_residual(state, feet, name, drives.nu)
        costs.addCost(name, crocoddyl.CostModelResidual(state, residual), 1e-3)
    dynamics = crocoddyl.DifferentialActionModelContactFwdDynamics(state, drives, contacts, costs, 0.0, True)
    x, u = np.concatenate([q, v]), np.linspace(-5.0, 5.0, drives.nu)
    data = dynamics.createData()
    dynamics.calc(data, x, u)
    dynamics.calcDiff(data, x, u)
    rows, own = feet.rows(q, v), model.createData()
    M = np.triu(pin.crba(model, own, q))
    M = M + np.triu(M, 1).T
    kkt = np.block([[M, -rows.J.T], [rows.J, np.zeros((feet.size, feet.size))]])
    top = np.r_[np.zeros(6), u] - pin.nonLinearEffects(model, own, q, v)
    a0 = rows.bias + GAINS[0] * rows.position + GAINS[1] * rows.J @ v
    solution = np.linalg.solve(kkt, np.r_[top, -a0])
    np.testing.assert_allclose(data.xout, solution[:12], rtol=1e-9, atol=1e-9)
    force = data.multibody.contacts.contacts["left"].foot.force
    np.testing.assert_allclose(force, solution[12:][feet.split["left"]], rtol=1e-8, atol=1e-8)
    inside = data.costs.costs["left"].residual.r
    margins = feet.margins(q, solution[12:])
    assert inside[0] == pytest.approx(margins["left.normal_force"], rel=1e-8)
    assert inside[1] + inside[2] == pytest.approx(np.sqrt(2) * 0.6 * margins["left.normal_force"], rel=1e-8)
    numeric = crocoddyl.DifferentialActionModelNumDiff(dynamics, True)
    differences = numeric.createData()
    numeric.calc(differences, x, u)
    numeric.calcDiff(differences, x, u)
    for name in ("Fx", "Fu", "Lx", "Lu"):
        exact, approximate = getattr(data, name), getattr(differences, name)
        assert np.abs(exact - approximate).max() < 1e-5 * np.abs(approximate).max(), name


def test_errors_say_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    crocoddyl = pytest.importorskip("crocoddyl")
    feet, _, _ = biped("flat", "rolling")
    state = crocoddyl.StateMultibody(feet.model)
    with pytest.raises(tr.InputError, match="name = 'middle': must be one of"):
        contact_model(state, feet, "middle")
    with pytest.raises(tr.InputError, match="gains = "):
        contact_model(state, feet, "left", gains=(-1.0, 0.0))
    other = crocoddyl.StateMultibody(pin.buildSampleModelManipulator())
    with pytest.raises(tr.InputError, match=r"state = .*: must be one of the model that the feet are of"):
        contact_model(other, feet, "left")
    monkeypatch.setattr(
        crocoddyl,
        "ContactModel3D",
        lambda *_: SimpleNamespace(createData=lambda _: SimpleNamespace(jMf=pin.SE3.Random())),
    )
    with pytest.raises(tr.InputError, match=r"crocoddyl = .*: must be built for this Pinocchio"):
        contact_model(state, feet, "left")


def test_without_crocoddyl_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "crocoddyl", None)
    feet, _, _ = biped("flat", "rolling")
    state = SimpleNamespace(pinocchio=feet.model, nv=12)
    for make in (contact_model, cone_residual):
        with pytest.raises(tr.errors.MissingExtraError, match=re.escape(command("crocoddyl"))):
            make(state, feet, "left")  # type: ignore[arg-type]
