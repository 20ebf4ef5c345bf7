"""Grounds that move or are tilted, flat patches and points: the tree and Pinocchio agree to 1e-9."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import trundle.geometry as tg
from tests.models.urdf.test_articulated import LEG
from trundle.contact import FlatPatch
from trundle.contact.choice import make_contact
from trundle.contact.laws import LAWS
from trundle.contact.packed import FrameMotion, contact_function, still_frame
from trundle.errors import InputError
from trundle.models import Foot, Hand, SinusoidMotion
from trundle.models.urdf.articulated import Articulated, accelerations
from trundle.models.urdf.checks import check_urdf
from trundle.models.urdf.robot import robot_from_urdf

G = (0.3, -0.2, -9.81)
WAVE = SinusoidMotion((0.0,) * 6, (0.0,) * 6)
RPY, AT, POSITION = (0.2, -0.1, 0.3), (0.1, -0.2, 0.05), (0.03, 0.0, -0.3)
FEET = {
    "ellipsoid": Foot(tg.Ellipsoid((0.15, 0.08, 0.05)), position=POSITION),
    "turned": Foot(tg.Ellipsoid((0.15, 0.08, 0.05)), position=POSITION, rpy=(0.3, 0.2, -0.4)),
    "pure": Foot(tg.Ellipsoid((0.15, 0.08, 0.05)), position=POSITION, law="pure-rolling"),
    "fixed": Foot(tg.Ellipsoid((0.15, 0.08, 0.05)), position=POSITION, law="fixed"),
    "point": Foot(tg.Point(), position=POSITION),
    "patch": Foot(FlatPatch.rectangle(0.2, 0.08), position=POSITION, rpy=(0.1, -0.2, 0.3)),
}


def moving_frame(R: np.ndarray, p: np.ndarray, twist: np.ndarray, rate: np.ndarray, nv: int) -> FrameMotion:
    """The frame of a body with this body twist (angular, linear) and its derivative by components, world axes."""
    w, v, al = R @ twist[:3], R @ twist[3:], R @ rate[:3]
    zero = np.zeros((3, nv))
    return FrameMotion(R, p, w, v, zero, zero, al, R @ (rate[3:] + np.cross(twist[:3], twist[3:])))


def turned(motion: FrameMotion, R: np.ndarray) -> FrameMotion:
    """The same frame with axes turned by R in it."""
    return replace(motion, R=motion.R @ R)


def both(foot: Foot, ground: Any, terrain: Any, lead: Sequence[float], tail: Sequence[float]) -> tuple[Any, ...]:
    """(nudot, multipliers) of the tree and of Pinocchio, at one random state; `lead`, `tail` belong to the ground."""
    rng = np.random.default_rng(4)
    other = Articulated(check_urdf(LEG), G)
    robot = robot_from_urdf(check_urdf(LEG), {"shin": foot}, ground, gravity=G)
    model = robot.model()
    laws = [LAWS[foot.law]] * len(model.constraints)
    q = other.neutral + 0.4 * rng.normal(size=other.nq)
    q[3:7] /= np.linalg.norm(q[3:7])
    nu, torque = rng.normal(size=other.nv), rng.normal(size=1)
    touches = [
        (part, contact_function(make_contact(part.shape, tg.Plane(), "support"), LAWS[foot.law], compiled=False))
        for _, part in foot.contacts("shin")
    ]

    def rows_at(nu: np.ndarray) -> tuple[Any, list[Any]]:
        """The terms and the rows of all contacts."""
        held = other.terms(q, nu, ["shin"])
        frames = [turned(held.motions[0].at(part.place.p), part.place.R) for part, _ in touches]
        return held, [touch.rows(frame, terrain) for frame, (_, touch) in zip(frames, touches, strict=True)]

    if len(touches) > 1:  # points of one body can only be held together where they all stand
        _, rows = rows_at(nu)
        nu = nu - np.linalg.pinv(np.vstack([r.J for r in rows])) @ np.concatenate([r.velocity for r in rows])
    dynamics = model.dynamics(laws)
    function = ca.Function("f", [model.x, model.u], [dynamics.nudot, dynamics.lam])
    u = np.concatenate([tail[6:], torque])
    ours = [np.asarray(v).ravel() for v in function(np.concatenate([lead, q, tail[:6], nu]), u)]
    held, rows = rows_at(nu)
    a, push = accelerations(held, torque, rows, proximal=1e-7 if len(rows) > 1 else 0.0)
    return ours, (a, push)


@pytest.mark.parametrize("foot", FEET.values(), ids=FEET)
def test_on_a_moving_plane_both_routes_agree(foot: Foot) -> None:
    pytest.importorskip("pinocchio")
    rng = np.random.default_rng(6)
    twist, rate = rng.normal(size=6), rng.normal(size=6)
    ground = Hand(tg.Plane(), AT, RPY, twist, WAVE)
    R, p = ground.R_world_hand, np.array(AT)
    lead = [*AT, *ground.orientation]
    ours, theirs = both(foot, ground, moving_frame(R, p, twist, rate, 7), lead, [*twist, *rate])
    compare(ours, theirs, foot)


@pytest.mark.parametrize("foot", FEET.values(), ids=FEET)
def test_on_a_tilted_plane_both_routes_agree(foot: Foot) -> None:
    pytest.importorskip("pinocchio")
    ground = Hand(tg.Plane(), AT, RPY)
    ours, theirs = both(foot, ground, still_frame(7, ground.R_world_hand, AT), [], [])
    compare(ours, theirs, foot)


def compare(ours: Any, theirs: Any, foot: Foot) -> None:
    """Accelerations to 1e-9; forces, too, unless a patch divides them among its corners."""
    scale = 1 + np.abs(theirs[0]).max()
    np.testing.assert_allclose(ours[0], theirs[0], rtol=0, atol=1e-9 * scale)
    if not isinstance(foot.shape, FlatPatch):
        np.testing.assert_allclose(ours[1], theirs[1], rtol=0, atol=1e-9 * (1 + np.abs(theirs[1]).max()))
        return
    total = [lam.reshape(4, 3).sum(axis=0) for lam in (ours[1], theirs[1])]
    np.testing.assert_allclose(*total, rtol=0, atol=1e-8 * (1 + np.abs(total[0]).max()))


def test_a_tilted_plane_is_gravity_turned() -> None:
    """The pose in the plane's frame moves as on the level under turned gravity."""
    foot = FEET["ellipsoid"]
    R = Rotation.from_euler("xyz", RPY).as_matrix()
    rng = np.random.default_rng(8)
    q, nu = rng.normal(size=8), rng.normal(size=7)
    q[3:7] /= np.linalg.norm(q[3:7])
    found = []
    for turn, at, ground, gravity in (
        (np.eye(3), np.zeros(3), None, tuple(R.T @ G)),
        (R, np.array(AT), Hand(tg.Plane(), AT, RPY), G),
    ):
        robot = robot_from_urdf(check_urdf(LEG), {"shin": foot}, ground, gravity=gravity)
        model = robot.model()
        quaternion = Rotation.from_matrix(turn) * Rotation.from_quat(q[3:7], scalar_first=True)
        x = np.concatenate([at + turn @ q[:3], quaternion.as_quat(scalar_first=True), q[7:]])
        rates = np.concatenate([turn @ nu[:3], turn @ nu[3:6], nu[6:]])
        dynamics = model.dynamics([LAWS["rolling"]])
        nudot = np.asarray(ca.Function("f", [model.x, model.u], [dynamics.nudot])(np.concatenate([x, rates]), [0.3]))
        nudot = nudot.ravel()
        found.append(np.concatenate([turn.T @ nudot[:3], turn.T @ nudot[3:6], nudot[6:]]))
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-10 * np.abs(found[0]).max())


def test_patches_and_grounds_are_checked() -> None:
    with pytest.raises(InputError, match="width"):
        FlatPatch.rectangle(0.2, -0.2)
    with pytest.raises(InputError, match="rectangle"):
        Foot(FlatPatch([[0.0, 0.0], [0.1, 0.0], [0.0, 0.1]]))
    assert Foot(FlatPatch.rectangle(0.2, 0.2, friction=0.4)).friction == 0.4
    with pytest.raises(InputError, match="friction"):
        _ = FlatPatch.rectangle(0.2, 0.2).rows
    with pytest.raises(InputError, match="law"):
        Foot(FlatPatch.rectangle(0.2, 0.2), law="pure-rolling")
    with pytest.raises(InputError, match="ground"):
        robot_from_urdf(check_urdf(LEG), {}, Hand(tg.Plane(), extent=(1.0, 1.0)))
    given = FlatPatch([[-0.1, -0.04], [0.1, -0.04], [0.1, 0.04], [-0.1, 0.04]])
    (first, at), *_ = Foot(given, position=POSITION).contacts("sole")
    assert first == "sole-1"
    np.testing.assert_allclose(np.subtract(at.position, POSITION)[:2], [0.1, 0.04], atol=1e-12)
    names = [name for name, _ in Foot(FlatPatch.rectangle(0.2, 0.08)).contacts("sole")]
    assert names == ["sole-1", "sole-2", "sole-3", "sole-4"]
