"""Forces that the motion leaves open: what Coulomb's law allows with the least sum of squares, by a conic solver."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import null_space

import trundle as tr
from trundle.numerics.compiled.compile import find_compiler
from trundle.simulate.engine.data_mode import DataMode, engine_of
from trundle.simulate.engine.tables import core
from trundle.simulate.mode import Method, Mode

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="kernels need a C compiler")
MU = 0.6
HALF = np.array([0.15, 0.1, 0.2])  # m


def crate(gravity: np.ndarray) -> tuple[DataMode, np.ndarray]:
    """Return a crate that rests on all four corners, and its state."""
    robot = tr.Robot(gravity=tuple(gravity), on_slip="slide", on_separation="fly")
    robot.free(2.0, shape=tr.Box(HALF), name="crate")
    robot.terrain(tr.Plane(), friction=MU)
    tree = robot.finish()
    system, loaded = tree.system, core()
    assert loaded is not None
    start = tree.place(crate=(0, 0, HALF[2], 1, 0, 0, 0), contacts=[])
    below = [i for i, pair in enumerate(system.contact_pairs) if _height(tree, start.x, i) < 1e-9]
    laws = tuple("rolling" if i in below else "separated" for i in range(len(system.contact_pairs)))
    mode = Mode(laws, system.first_atlas)
    engine = engine_of(system, mode.atlas, False, loaded)
    assert engine is not None
    return DataMode(system, mode, False, Method(), engine), start.x


def _height(tree: tr.RollingTree, x: np.ndarray, contact: int) -> float:
    from trundle.models.tree.touching import gap_of

    return abs(gap_of(tree.system, x, contact))


def allowed(points: np.ndarray, force: np.ndarray, moment: np.ndarray, inside: bool) -> tuple[float, np.ndarray]:
    """Return (t, forces (n, 3)): the largest t with all forces in cones moved inward by t, or the least squares."""
    n = len(points)
    W = np.zeros((6, 3 * n))
    for i, p in enumerate(points):
        cross = np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])
        W[:3, 3 * i : 3 * i + 3], W[3:, 3 * i : 3 * i + 3] = np.eye(3), cross
    size = 3 * n + inside
    rows, offsets, cones = [np.hstack([W, np.zeros((6, int(inside)))])], [np.concatenate([force, moment])], []
    cones.append(clarabel.ZeroConeT(6))
    for i in range(n):
        for weight, across in ((1.0, 0), (MU, 2)):
            row = np.zeros((1 + across, size))
            row[0, 3 * i + 2] = -weight
            if inside:
                row[0, -1] = weight
            for k in range(across):
                row[1 + k, 3 * i + k] = -1.0
            rows.append(row)
            offsets.append(np.zeros(1 + across))
            cones.append(clarabel.SecondOrderConeT(3) if across else clarabel.NonnegativeConeT(1))
    P = np.zeros(size) if inside else np.ones(size)
    q = np.zeros(size)
    if inside:
        q[-1] = -1.0
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(np.diag(P)), q, sparse.csc_matrix(np.vstack(rows)), np.concatenate(offsets), cones, settings
    )
    found = np.array(solver.solve().x)
    return float(found[-1]), found[: 3 * n].reshape(n, 3)


def state_of(data: DataMode, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return points, forces (n, 3) of the contacts that touch, their sum and their moment."""
    p = data.parameters(np.zeros(data.input_count))
    out = data.outputs(np.zeros(1), x[None], p[None])
    names = [
        pair.contact for pair, law in zip(data.system.contact_pairs, data.mode.laws, strict=True) if law != "separated"
    ]
    points, forces = (np.stack([out[f"{name}.{what}"][0] for name in names]) for what in ("point", "force"))
    return points, forces, forces.sum(axis=0), np.cross(points, forces).sum(axis=0)


@pytest.mark.parametrize("seed", range(12))
def test_corners_share_by_the_least_squares_that_friction_allows(seed: int) -> None:
    """Of a crate on tilted ground, wherever the centre of pressure is; also where no corner may pull."""
    random = np.random.default_rng([seed, 12])
    tilt = random.uniform(0.0, 0.55)
    turn = random.uniform(0.0, 2 * np.pi)
    gravity = 9.81 * np.array([np.sin(tilt) * np.cos(turn), np.sin(tilt) * np.sin(turn), -np.cos(tilt)])
    data, x = crate(gravity)
    points, forces, total, moment = state_of(data, x)
    assert np.allclose(total, -2.0 * gravity, atol=1e-9)
    room, _ = allowed(points, total, moment, inside=True)
    assert room > 0.0
    _, best = allowed(points, total, moment, inside=False)
    assert np.allclose(forces, best, atol=2e-5 * np.abs(forces).max())
    assert np.sum(forces**2) <= np.sum(best**2) * (1 + 1e-7)
    margins = data.margin_values(0.0, x, data.parameters(np.zeros(data.input_count)))
    assert min(value for name, value in margins.items() if name.endswith(("friction", "normal_force"))) > 0.0


@pytest.mark.parametrize("seed", range(6))
def test_a_crate_lets_go_where_no_allowed_force_is_left(seed: int) -> None:
    """Its margins cross zero at the tilt at which the centre of pressure leaves the base, or the friction cone ends."""
    random = np.random.default_rng([seed, 13])
    turn = random.uniform(0.0, 2 * np.pi)
    across = np.array([np.cos(turn), np.sin(turn)])
    tips = np.min(HALF[:2] / np.maximum(np.abs(across), 1e-12)) / HALF[2]
    limit = min(MU, tips)

    def least(slope: float) -> float:
        """Return the least margin of the forces on ground of a slope."""
        data, x = crate(9.81 * np.array([*(slope * across), -1.0]))
        margins = data.margin_values(0.0, x, data.parameters(np.zeros(data.input_count)))
        return min(value for name, value in margins.items() if name.endswith(("friction", "normal_force")))

    assert least(limit * (1 - 1e-6)) > 0.0 > least(limit * (1 + 1e-6))


def test_the_internal_forces_of_a_pair_vanish() -> None:
    """Without a load across them nothing pushes the corners apart: squares are least without internal forces."""
    data, x = crate(np.array([0.0, 0.0, -9.81]))
    points, forces, _, _ = state_of(data, x)
    assert np.allclose(forces, [0.0, 0.0, 2.0 * 9.81 / 4], atol=1e-9)
    assert null_space(np.vstack([np.tile(np.eye(3), len(points))])).shape[1] == 3 * len(points) - 3


@pytest.mark.parametrize(("shape", "height"), [(tr.Cylinder(0.1, length=0.3), 0.15), (tr.Box([0.1, 0.08, 0.15]), 0.15)])
def test_a_face_that_slides_drifts_in_proportion_to_a_small_spin(shape: tr.Shape, height: float) -> None:
    """Loads with the least squares of all would pull at the back: allowed loads move it."""
    robot = tr.Robot(gravity=(0, 0, -9.81), on_slip="slide", on_separation="fly")
    robot.free(1.0, "solid", shape=shape, name="body")
    robot.terrain(tr.Plane(), friction=0.5)
    model = robot.finish()
    drifts = []
    for spin in (1e-6, 1e-5, 1e-4, -1e-4):
        start = model.place(contacts=[], body=(0, 0, height, 1, 0, 0, 0), rates={"body": [0, 0, spin, 3.0, 0, 0]})
        run = tr.simulate(model, start, 1.0)
        assert run.status is tr.Status.SUCCESS
        assert run["contact_force"][..., 2].min() > -1e-9
        drifts.append(run["body_position"][-1, 0, 1] / spin)
    assert drifts == pytest.approx([drifts[0]] * len(drifts), rel=1e-3)
    assert abs(drifts[0]) > 1e-3


def test_a_groove_holds_a_ball_whatever_its_mass() -> None:
    """Walls of 35 degrees whose friction does not bear half of the weight upwards: it rests by forces in the cones.

    Walls are two still bodies, and so of one kind with the sides of one; of the masses each has its own numbers.
    """
    slope, masses = np.radians(35.0), np.array([0.5, 1.0, 4.0])
    robot = tr.Robot(gravity=(0, 0, -9.81), on_slip="slide", on_separation="fly")
    robot.free(1.0, shape=tr.Sphere(0.1), name="ball")
    robot.terrain(tr.Plane(), 0.3, rpy=(slope, 0, 0))
    robot.terrain(tr.Plane(), 0.3, rpy=(-slope, 0, 0), name="left")
    tree = robot.finish()
    start = tree.place(ball=(0, 0, 0.1 / np.cos(slope)), contacts=["ball", "ball-left"])
    alone = tr.simulate(tree, start, 0.1)
    runs = tr.simulate_many(tree, [start] * 3, 0.1, parameters={"ball.mass": masses}, workers=1)
    n = np.array([[0.0, -np.sin(slope), np.cos(slope)], [0.0, np.sin(slope), np.cos(slope)]])
    for run, mass in zip((alone, *runs), (1.0, *masses), strict=True):
        force = np.asarray(run["contact_force"])
        normal = np.einsum("tci,ci->tc", force, n)
        across = np.linalg.norm(force - normal[..., None] * n, axis=-1)
        assert run.status is tr.Status.SUCCESS
        assert not run.transitions
        np.testing.assert_allclose(force.sum(axis=1), np.tile([0, 0, 9.81 * mass], (len(force), 1)), atol=1e-9 * mass)
        np.testing.assert_allclose(across, 0.3 * normal, rtol=1e-6)  # of those in the cones the nearest to half
