"""The tree of a URDF against Pinocchio: inertia, bias, contact rows, inverse dynamics; names, frames, limits."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import trundle.geometry as tg
from tests.models.urdf.test_articulated import LEG
from trundle.contact.choice import make_contact
from trundle.contact.laws import FIXED, PURE_ROLLING, ROLLING, SLIDING
from trundle.contact.packed import contact_function, still_frame
from trundle.errors import InputError
from trundle.models.feet import Foot
from trundle.models.tree.model import TreeModel
from trundle.models.urdf.articulated import Articulated, accelerations
from trundle.models.urdf.checks import check_urdf
from trundle.models.urdf.examples import example_robots, load_example_robot
from trundle.models.urdf.robot import robot_from_urdf
from trundle.models.urdf.tree import urdf_tree
from trundle.systems.walking.robots.avatar import build_avatar

RNG = np.random.default_rng(11)
G = (0.3, -0.2, -9.81)
AVATAR = build_avatar()
SOLE = AVATAR.foot.sole
FEET = {f"{side}_foot": Foot(SOLE, position=AVATAR.foot.center) for side in ("left", "right")}


def joint_names(model: TreeModel) -> list[str]:
    return [spec.joint_name or spec.name for spec in model.specs if spec.jointed]


def state_of(articulated: Articulated) -> tuple[np.ndarray, np.ndarray]:
    q = articulated.neutral + 0.7 * RNG.normal(size=articulated.nq)
    q[3:7] /= np.linalg.norm(q[3:7])
    return q, RNG.normal(size=articulated.nv)


@pytest.mark.parametrize("law", [ROLLING, PURE_ROLLING], ids=lambda law: law.name)
def test_the_avatar_on_two_ellipsoids_is_that_of_pinocchio(law) -> None:
    pytest.importorskip("pinocchio")
    other = Articulated(check_urdf(AVATAR.robot.urdf()), G)
    model = robot_from_urdf(AVATAR.robot, FEET, gravity=G).model()
    assert tuple(joint_names(model)) == other.joints
    terms = model.terms([law, law])
    m = terms.J.shape[0]
    nudot, lam = ca.SX.sym("nudot", model.nv), ca.SX.sym("lam", m)
    tau = model.inverse_dynamics([law, law], nudot, lam)
    numbers = ca.Function("terms", [model.x], [terms.M, terms.h, terms.J, terms.b])
    inverse = ca.Function("tau", [model.x, nudot, lam], [tau])
    touch = contact_function(make_contact(SOLE, tg.Plane(), "support", tuple(AVATAR.foot.center)), law, compiled=False)
    for _ in range(3):
        q, nu = state_of(other)
        x = np.concatenate([q, nu])
        wanted = other.terms(q, nu, list(FEET))
        rows = [touch.rows(motion, still_frame(model.nv)) for motion in wanted.motions]
        J, b = np.vstack([r.J for r in rows]), np.concatenate([r.b for r in rows])
        for ours, theirs in zip(numbers(x), (wanted.M, wanted.h[:, None], J, b[:, None]), strict=True):
            np.testing.assert_allclose(np.asarray(ours), theirs, rtol=0, atol=1e-9 * (1 + np.abs(theirs).max()))
        torque = RNG.normal(size=model.nv - 6)
        a, push = accelerations(wanted, torque, rows)
        back = np.asarray(inverse(x, a, push)).ravel()
        np.testing.assert_allclose(back, [*np.zeros(6), *torque], atol=1e-9 * (1 + np.abs(push).max()))


@pytest.mark.parametrize("name", ["solo12", "talos_reduced", "tiago_no_hand", "anymal_c_simple/anymal", "bolt"])
def test_example_robots_are_those_of_pinocchio(name: str) -> None:
    pytest.importorskip("pinocchio")
    if name not in example_robots():
        pytest.skip("another version of example-robot-data")
    urdf = load_example_robot(name)
    other, model = Articulated(urdf, G), robot_from_urdf(urdf, gravity=G).model()
    assert tuple(joint_names(model)) == other.joints
    M, h = model.inertia_terms()
    nudot = ca.SX.sym("nudot", model.nv)
    function = ca.Function("f", [model.x, nudot], [M, h, model.inverse_dynamics([], nudot, ca.SX(0, 1))])
    for _ in range(2):
        q, nu = state_of(other)
        a = RNG.normal(size=model.nv)
        wanted = other.terms(q, nu)
        ours = [np.asarray(value) for value in function(np.concatenate([q, nu]), a)]
        for value, theirs in zip(ours, (wanted.M, wanted.h, wanted.M @ a + wanted.h), strict=True):
            np.testing.assert_allclose(np.squeeze(value), theirs, rtol=0, atol=1e-9 * (1 + np.abs(theirs).max()))
    if name != "bolt":
        return
    nudot, _ = accelerations(other.terms(q, nu), np.zeros(model.nv - 6))
    free = ca.Function("free", [model.x, model.u], [model.dynamics([]).nudot])
    ours = np.asarray(free(np.concatenate([q, nu]), np.zeros(model.nv - 6))).ravel()
    np.testing.assert_allclose(ours, nudot, rtol=0, atol=1e-9 * np.abs(nudot).max())


def test_the_direct_inverse_dynamics_is_short() -> None:
    model = robot_from_urdf(AVATAR.robot, FEET, gravity=G).model()
    mode = [ROLLING, ROLLING]
    nudot, lam = ca.SX.sym("nudot", model.nv), ca.SX.sym("lam", 6)
    tau = model.inverse_dynamics(mode, nudot, lam)
    terms = model.terms(mode)
    direct = ca.Function("direct", [model.x, nudot, lam], [tau]).n_instructions()
    through = ca.Function("through", [model.x, nudot, lam], [terms.M @ nudot + terms.h - terms.J.T @ lam])
    through = through.n_instructions()
    print(f"{direct} instructions directly, {through} through M")
    assert direct < 5000 < 8000 < through


def test_a_base_on_joints_is_the_same_robot() -> None:
    """Powers agree: tau'nu is the same in both coordinates, for the same motion."""
    posed, hung = (robot_from_urdf(AVATAR.robot, gravity=G, base=base).model() for base in ("pose", "joints"))
    names = list(joint_names(hung))
    assert names[:6] == ["base_x", "base_y", "base_z", "base_yaw", "base_pitch", "base_roll"]
    assert hung.u.shape == posed.u.shape == (23, 1)
    base = hung.motions["pelvis"]
    y, a = hung.x, ca.SX.sym("a", hung.nv)
    twist = ca.vertcat(base.w, base.v)
    rate = ca.vertcat(base.al, base.a) + ca.vertcat(base.Jw, base.Jv) @ a
    out = ca.Function("base", [y, a], [base.p, base.R, twist, rate])
    tau = [m.inverse_dynamics([], a, ca.SX(0, 1)) for m in (posed, hung)]
    first, second = (ca.Function("tau", [m.x, a], [t]) for m, t in zip((posed, hung), tau, strict=True))
    y0 = 0.5 * RNG.normal(size=2 * hung.nv)
    a0 = RNG.normal(size=hung.nv)
    p, R, w, wdot = (np.asarray(v) for v in out(y0, a0))
    from trundle.models.tree.conversion import to_wxyz

    x0 = np.concatenate([p.ravel(), to_wxyz(R), y0[6 : hung.nv], w.ravel(), y0[hung.nv + 6 :]])
    one = np.asarray(first(x0, np.concatenate([wdot.ravel(), a0[6:]]))).ravel()
    other = np.asarray(second(y0, a0)).ravel()
    np.testing.assert_allclose(other[6:], one[6:], atol=1e-9 * np.abs(one).max())
    assert other[:6] @ y0[hung.nv : hung.nv + 6] == pytest.approx(one[:6] @ w.ravel(), rel=1e-9)


def test_a_turned_foot_on_a_held_link_is_where_its_frame_is() -> None:
    """The same ellipsoid, said in the shin's frame and in that of a link that a fixed joint holds there."""
    held = LEG.replace(
        "</robot>",
        '<link name="sole"/><joint name="weld" type="fixed"><parent link="shin"/><child link="sole"/>'
        '<origin xyz=".03 0 -.3" rpy=".1 -.2 .3"/></joint></robot>',
    )
    ellipsoid = tg.Ellipsoid((0.15, 0.08, 0.05))
    feet = {
        "direct": Foot(ellipsoid, "shin", (0.03, 0.0, -0.3), (0.1, -0.2, 0.3)),
        "sole": Foot(ellipsoid),
    }
    model = robot_from_urdf(check_urdf(held), feet).model()
    terms = model.terms([ROLLING, ROLLING])
    J, b, gap = ca.Function("J", [model.x], [terms.J, terms.b, terms.position])(RNG.normal(size=15))
    for value in (J, b, gap):
        np.testing.assert_allclose(value[:3, :], value[3:, :], atol=1e-12)


def test_limits_and_frames_are_kept() -> None:
    tree = urdf_tree(AVATAR.robot)
    knee = next(joint for joint in AVATAR.robot.joints if joint.name == "left_knee")
    limits = tree.limits["left_knee"]
    assert (limits.lower, limits.upper, limits.effort) == (knee.lower, knee.upper, knee.torque)
    assert set(tree.links) == {link.name for link in AVATAR.robot.links}
    turning = urdf_tree(check_urdf(LEG.replace('"revolute"', '"continuous"'))).limits["hinge"]
    assert (turning.lower, turning.upper) == (-np.inf, np.inf)


@pytest.mark.parametrize(
    ("build", "key"),
    [
        (lambda: robot_from_urdf("<robot/>"), "urdf"),
        (lambda: robot_from_urdf("legs/none.urdf"), "urdf"),
        (lambda: robot_from_urdf(Path(__file__).parent), "urdf"),
        (lambda: robot_from_urdf(Path(__file__)), "xml"),
        (lambda: robot_from_urdf(check_urdf(LEG.replace("revolute", "floating"))), "joint[hinge].type"),
        (lambda: robot_from_urdf(check_urdf(LEG), {"toe": Foot(SOLE)}), "feet.toe.frame"),
        (lambda: robot_from_urdf(check_urdf(LEG), base="wheels"), "base"),
        (lambda: Foot(tg.Circle(0.1)), "shape"),
        (lambda: Foot(SOLE, law="gliding"), "law"),
        (lambda: Foot(SOLE, rpy=(0.0, np.nan, 0.0)), "rpy"),
    ],
)
def test_what_cannot_be_built_says_why(build, key: str) -> None:
    with pytest.raises(InputError) as caught:
        build()
    assert caught.value.key == key


def test_sliding_feet_have_no_inverse_dynamics() -> None:
    model = robot_from_urdf(check_urdf(LEG), {"shin": Foot(SOLE, position=(0, 0, -0.3))}).model()
    with pytest.raises(InputError, match="slides"):
        model.inverse_dynamics([SLIDING], ca.SX.sym("a", 7), ca.SX.sym("lam", 1))


def test_a_fixed_foot_has_six_rows() -> None:
    model = robot_from_urdf(check_urdf(LEG), {"shin": Foot(SOLE, position=(0, 0, -0.3), law="fixed")}).model()
    nudot, lam = ca.SX.sym("a", 7), ca.SX.sym("lam", 6)
    terms = model.terms([FIXED])
    tau = model.inverse_dynamics([FIXED], nudot, lam)
    through = terms.M @ nudot + terms.h - terms.J.T @ lam
    values = ca.Function("tau", [model.x, nudot, lam], [tau, through])(*(RNG.normal(size=n) for n in (15, 7, 6)))
    np.testing.assert_allclose(values[0], values[1], atol=1e-10)


def test_a_robot_comes_from_the_path_of_its_file(tmp_path: Path) -> None:
    file, feet = tmp_path / "leg.urdf", {"shin": Foot(SOLE, position=(0, 0, -0.3))}
    file.write_text(LEG, encoding="utf-8")
    for path in (file, str(file)):
        found, wanted = robot_from_urdf(path, feet), robot_from_urdf(check_urdf(LEG), feet)
        assert (repr(found.tree.specs), found.parts) == (repr(wanted.tree.specs), wanted.parts)
