"""Contact of corners, edges and faces: the nearest one is where a polytope is nearest."""

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import trundle as tr
from trundle.contact.choice import bumpy, contact_form, features_on, make_contact, pieces_of
from trundle.contact.motion import prescribe_motion
from trundle.contact.parts.feature import FeatureContact
from trundle.geometry.features import Feature
from trundle.numerics.symbol import Symbol


@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_feature_is_where_a_polytope_is_nearest_to_a_ball(seed: int) -> None:
    random = np.random.default_rng(seed)
    shape = tr.Polytope((0.3 * random.normal(size=(random.integers(4, 9), 3))).tolist())
    ball = tr.Sphere(0.5)
    level = ball.representations.level
    assert level is not None
    contacts = [FeatureContact(f, level) for f in shape.representations.features]
    for _ in range(10):
        R, p = Rotation.random(random_state=random).as_matrix(), 3.0 * random.normal(size=3)
        brute = float(shape.distance([-R.T @ p])[0][0])  # of the ball's centre
        if brute < 0.5:
            continue
        near = []
        for contact in contacts:
            y, *_, margin = (np.asarray(v) for v in contact._nearest(R, p + R @ contact.feature.at))
            if margin > 0:
                near.append(float(np.linalg.norm(p + R @ (np.array(contact.feature.at) + y.ravel()))))
        assert len(near) == 1, "a convex body has one nearest point"
        assert near[0] == pytest.approx(brute, rel=1e-9)


def test_in_a_hollow_corners_alone_touch() -> None:
    box = tr.Box([0.1, 0.2, 0.3])
    for floor, count in ((tr.Dish([1.0, 2.0, 1.5]), 8), (tr.Sphere(1.0), 26), (tr.Tube(2.0), 8)):
        assert contact_form(box, floor) == "features"
        assert len(pieces_of(box, "features", floor)) == count
    saddle = tr.geometry.ExpressionLevelSurface(lambda x, y, z: z - 0.3 * (x * x - y * y), size=1.0)
    assert len(pieces_of(box, "features", saddle)) == 20
    assert contact_form(box, tr.Plane()) == "support"


@pytest.mark.parametrize("shape", [tr.Disc(0.2), tr.Cylinder(0.15, 0.5), tr.Cylinder(0.3, 0.2)], ids=repr)
@pytest.mark.parametrize("ground", [tr.Sphere(0.5), tr.Ellipsoid([0.5, 0.7, 0.6])], ids=repr)
def test_one_round_feature_is_nearest(shape: tr.Shape, ground: tr.Shape) -> None:
    if contact_form(shape, ground) != "features":
        pytest.skip("the side of a cylinder needs the ground's signed distance")
    level, distance = ground.representations.level, ground.representations.distance
    assert level is not None
    contacts = [FeatureContact(f, level, (), distance) for f in shape.representations.features]
    random = np.random.default_rng(0)
    for _ in range(100):
        R, p = Rotation.random(random_state=random).as_matrix(), 1.5 * random.normal(size=3)
        brute = float(shape.distance([-R.T @ p])[0][0])  # of the ground's centre
        if brute < 0.7:
            continue
        near = []
        for contact in contacts:
            y, *_, margin = (np.asarray(v) for v in contact._nearest(R, p + R @ contact.feature.at))
            if margin > 0:
                middle = p + R @ (np.array(contact.feature.at) + y.ravel())
                near.append(float(np.linalg.norm(middle)) - contact.feature.rounding)
        assert len(near) == 1, "a convex body has one nearest point"
        if isinstance(ground, tr.Sphere):
            assert near[0] == pytest.approx(brute, rel=1e-9)


def test_the_point_of_a_rim_is_the_lowest_of_its_circle() -> None:
    ground, disc = tr.Ellipsoid([0.5, 0.7, 0.6]), tr.Disc(0.2)
    level = ground.representations.level
    assert level is not None
    (rim,) = (f for f in disc.representations.features if f.rim)
    contact = FeatureContact(rim, level, (), ground.representations.distance)
    angle = 2 * np.pi * np.arange(2000) / 2000
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    random = np.random.default_rng(3)

    def value(points: np.ndarray) -> np.ndarray:
        return np.sum((points / [0.5, 0.7, 0.6]) ** 2, axis=-1)

    for _ in range(20):
        R, p = Rotation.random(random_state=random).as_matrix(), random.normal(size=3)
        p *= 1.2 / np.linalg.norm(p)
        y = np.asarray(contact._nearest(R, p + R @ rim.at)[0]).ravel()
        assert np.linalg.norm(y) == pytest.approx(0.2, rel=1e-12)
        around = value(p + 0.2 * circle @ np.array(rim.axes) @ R.T)
        x = p + R @ np.array(rim.axes).T @ y[:2] if len(y) == 2 else p + R @ y
        assert value(x) <= around.min() + 1e-12
        along = np.cross(R @ np.cross(*np.array(rim.axes)), x - p)
        assert abs((x / [0.25, 0.49, 0.36]) @ along) < 1e-12  # the level does not change along the circle


@pytest.mark.parametrize("hollow", [False, True])
def test_the_margin_of_a_rim_is_the_least_of_what_makes_it_the_nearest_point(hollow: bool) -> None:
    """The face is within the rim, above the ground, and along the circle the ground bends away."""
    axes, (rim,) = np.array([0.5, 0.7, 0.6]), (f for f in tr.Disc(0.2).representations.features if f.rim)
    level = (tr.Dish if hollow else tr.Ellipsoid)(axes).representations.level
    assert level is not None
    contact, random = FeatureContact(rim, level), np.random.default_rng(3)
    bends = 0
    for _ in range(20):
        R, p = Rotation.random(random_state=random).as_matrix(), random.normal(size=3)
        p *= (0.25 if hollow else 1.2) / np.linalg.norm(p)
        y, *_, margin = (np.asarray(v).ravel() for v in contact._nearest(R, p + R @ rim.at))
        u, second = R @ y / 0.2, (-1 if hollow else 1) / axes**2
        slope, t = second * (p + R @ y), R @ np.cross(np.cross(*np.array(rim.axes)), y) / 0.2
        size = float(np.linalg.norm(slope))
        bend = (t @ (second * t) - slope @ u / 0.2) / size * rim.size - 1e-6
        within = min([-slope @ u / size, *(slope @ R @ np.array(c) / size for c in rim.cone)])
        assert margin.item() == pytest.approx(min(bend, within), abs=1e-9)
        bends += int(bend < within)
    assert (bends > 5) == hollow


@pytest.mark.parametrize("feature", [0, 1])
def test_a_disc_whose_radius_is_a_symbol_touches_as_one_of_its_number(feature: int) -> None:
    R, zeros = Rotation.from_rotvec([0.3, 0.4, 0.0]).as_matrix(), ca.SX(6, 1)
    A = prescribe_motion(ca.SX(ca.DM(R)), ca.SX([0.05, -0.02, 0.7]), zeros, zeros, 0)
    B = prescribe_motion(ca.SX.eye(3), ca.SX(3, 1), zeros, zeros, 0)

    def sides(radius: float | Symbol) -> ca.SX:
        contact = make_contact(tr.Disc(radius), tr.Sphere(0.5), "features", piece=feature)
        return ca.vertcat(*(side.r for side in contact.touch(A, B, ca.SX(0, 1))))

    radius = Symbol("radius", 0.2)
    of_symbol = ca.Function("sides", [radius], [sides(radius)])
    for number in (0.2, 0.25):
        np.testing.assert_allclose(of_symbol(number), ca.evalf(sides(number)), atol=1e-14)


def touched(shape: tr.Shape, feature: int, R: np.ndarray, p: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return point, normal, curvature (3, 3) of both sides, of a shape at a pose over a ball of 0.5 m at the origin."""
    ground = tr.Sphere(0.5).representations
    assert ground.level is not None
    contact = FeatureContact(shape.representations.features[feature], ground.level, (), ground.distance)
    poses = ((R, p), (np.eye(3), np.zeros(3)))
    A, B = (prescribe_motion(ca.SX(ca.DM(r)), ca.SX(ca.DM(x)), ca.SX(6, 1), ca.SX(6, 1), 0) for r, x in poses)
    sides = contact.touch(A, B, ca.SX(0, 1))
    margins = contact.limits(A, B, ca.SX(0, 1))
    assert float(ca.evalf(margins["feature"])) > 0
    found = []
    for motion, touch in zip((A, B), sides, strict=True):
        assert touch.K is not None
        found.append([np.asarray(ca.evalf(ca.densify(e))).squeeze() for e in (motion.p + touch.r, touch.n, touch.K)])
    return found[0], found[1]


E_1, E_2, E_3 = np.eye(3)


def test_a_lying_cylinder_touches_with_its_side_and_a_tilted_disc_with_its_rim() -> None:
    gap, tilt = 0.02, 0.4
    lying = np.column_stack([-E_3, E_2, E_1])  # its axis along x
    radial, axis = np.array([-np.cos(tilt), 0.0, -np.sin(tilt)]), np.array([-np.sin(tilt), 0.0, np.cos(tilt)])
    about = np.array([[0.6, -0.8, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]])
    tilted = np.column_stack([radial, np.cross(axis, radial), axis]) @ about
    top = np.array([0.0, 0.0, 0.5])
    for shape, feature, R, p, curvature in (
        (tr.Cylinder(0.15, 0.5), 0, lying, top + 0.1 * E_1 + (gap + 0.15) * E_3, 1 / 0.15),
        (tr.Disc(0.2), 0, tilted, top + gap * E_3 - 0.2 * radial, np.sin(tilt) / 0.2),
    ):
        (x, n, K), (foot, up, bent) = touched(shape, feature, R, p)
        np.testing.assert_allclose(foot, top, atol=1e-3)  # of a rim right to first order in the gap
        np.testing.assert_allclose(up, E_3, atol=1e-12)
        np.testing.assert_allclose(n, -E_3, atol=1e-12)
        np.testing.assert_allclose(x, top + gap * E_3, atol=1e-12)
        np.testing.assert_allclose(K, curvature * np.outer(E_2, E_2), atol=1e-9)
        np.testing.assert_allclose(bent, 2.0 * (np.eye(3) - np.outer(E_3, E_3)), atol=0.1)


def test_without_a_ground_whatever_touches_counts() -> None:
    box = tr.Box([0.1, 0.2, 0.3])
    assert len(pieces_of(box, "features")) == 26
    assert pieces_of(box, "support") == tuple(range(8))
    assert pieces_of(tr.Sphere(0.1), "support") == pieces_of(tr.Sphere(0.1), "level") == (None,)
    x = np.linspace(0.0, 1.0, 6)
    waves = tr.geometry.ExpressionLevelSurface(lambda x, y, z: z - 0.05 * ca.sin(20 * x), 0.1)
    grounds = (waves, tr.Sphere(1.0), tr.Plane(), tr.HeightMap(x, x, np.zeros((6, 6))))
    assert [bumpy(ground) for ground in grounds] == [True, False, False, True]


def test_the_first_feature_is_that_of_a_contact_of_no_piece_and_a_level_rim_has_some_point() -> None:
    box, disc, ball = tr.Box([0.1, 0.2, 0.3]), tr.Disc(0.2), tr.Sphere(0.5)
    for piece in (None, 0, 5):
        contact = make_contact(box, ball, "features", piece=piece)
        assert isinstance(contact, FeatureContact)
        assert contact.feature == box.representations.features[piece or 0]
    rim = make_contact(disc, ball, "features")
    assert isinstance(rim, FeatureContact)
    y = np.asarray(rim._nearest(np.eye(3), 0.52 * E_3)[0])
    assert np.linalg.norm(y) == pytest.approx(0.2)


@pytest.mark.parametrize("rounding", [0.0, 0.05, 0.9])
def test_an_edge_almost_along_a_wave_touches_where_it_is_nearest(rounding: float) -> None:
    """Also where it is hardly nearer than beside it, and where its end, which a corner touches with, is nearer."""
    random, looked = np.random.default_rng(2), 0
    for half, amplitude in ((0.02, 0.03), (0.06, 0.05), (0.15, 0.02), (0.3, 0.05)):
        phase = random.uniform(0, 6)
        ground = tr.Sinusoid(amplitude, 1.0, phase)
        inside = (((1.0, 0.0), half), ((-1.0, 0.0), half))
        edge = Feature((0.0, 0.0), ((1.0, 0.0),), inside, (), (), half, rounding=rounding * half)
        level = ground.representations.level
        assert level is not None
        nearest = FeatureContact(edge, level, (), ground.representations.distance)._nearest
        along = np.linspace(-half, half, 2001)
        for _ in range(60):
            x = random.uniform(0, 1)
            bend = 4 * np.pi**2 * amplitude * half
            angle = np.arctan(2 * np.pi * amplitude * np.cos(2 * np.pi * x + phase))
            angle += random.normal() * bend * random.choice([0.5, 0.05, 0.005])
            R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
            c = np.array([x + random.uniform(-0.5, 0.5) * half, 0.0])
            for _ in range(8):
                gaps = _above_wave(c + np.outer(along, R[:, 0]), amplitude, phase) - edge.rounding
                c[1] -= gaps.min()
            hollows = np.flatnonzero((gaps[1:-1] < gaps[:-2]) & (gaps[1:-1] <= gaps[2:])) + 1
            order = np.sort(gaps[hollows])
            if not len(hollows) or order[0] > 2e-5 * half or (len(order) > 1 and order[1] - order[0] < 1e-6 * half):
                continue
            y, foot, n, _, _, margin = (np.asarray(v).ravel() for v in nearest(R, c))
            gap = float(n @ (c + R @ y - foot)) - edge.rounding
            looked += 1
            assert margin > -1e-3
            assert gap == pytest.approx(order[0], abs=1e-6 * half)
    assert looked > 60


def _above_wave(points: np.ndarray, amplitude: float, phase: float) -> np.ndarray:
    """Return the distances (n,), m, of points near a wave of 1 m, by Newton on their feet."""
    k, foot = 2 * np.pi, points[:, 0].copy()
    for _ in range(20):
        angle = k * foot + phase
        z, slope, bend = amplitude * np.sin(angle), amplitude * k * np.cos(angle), -amplitude * k * k * np.sin(angle)
        stiff = 1 + slope**2 + (z - points[:, 1]) * bend
        step = ((foot - points[:, 0]) + (z - points[:, 1]) * slope) / np.maximum(np.abs(stiff), 0.2)
        foot -= np.clip(step, -0.05, 0.05)
    z, slope = amplitude * np.sin(k * foot + phase), amplitude * k * np.cos(k * foot + phase)
    return ((points[:, 1] - z) - slope * (points[:, 0] - foot)) / np.sqrt(1 + slope**2)


@pytest.mark.parametrize("rounding", [0.1, 0.01])
def test_an_edge_over_a_rounded_corner_touches_where_it_is_nearest(rounding: float) -> None:
    """Beside the arc the distance is straight, and a step from there may go over the arc to the other side of it."""
    random, looked = np.random.default_rng(4), 0
    for _ in range(8):
        corners = random.normal(size=(7, 2))
        body = tr.Rounded(tr.Polytope(corners.tolist()), rounding)
        level, distance = body.representations.level, body.representations.distance
        assert level is not None
        half = float(random.uniform(0.2, 1.5))
        edge = Feature((0.0, 0.0), ((1.0, 0.0),), (((1.0, 0.0), half), ((-1.0, 0.0), half)), (), (), half)
        nearest = FeatureContact(edge, level, (), distance)._nearest
        for angle in random.uniform(-np.pi, np.pi, 200):
            along, up = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
            heights = corners @ up
            if np.diff(np.sort(heights)[-2:])[0] < 1e-3:
                continue
            corner = corners[np.argmax(heights)]
            at = float(random.uniform(-0.9, 0.9)) * half
            c = corner + (rounding + 1e-3) * up - at * along
            y, _, n, _, _, margin = (np.asarray(v).ravel() for v in nearest(np.column_stack([along, up]), c))
            looked += 1
            assert margin > 0
            assert y[0] == pytest.approx(at, abs=1e-9)
            np.testing.assert_allclose(n, up, atol=1e-9)
    assert looked > 1000


@pytest.mark.parametrize(
    ("shape", "ground"),
    [
        (tr.Box([0.2, 0.05]), tr.Sinusoid(0.02, 0.9, 0.2)),
        (tr.Box([0.2, 0.05]), tr.Rounded(tr.Polytope([[-1.0, -1.0], [1.0, -1.0], [0.3, 0.0]]), 0.1)),
        (tr.Box([0.2, 0.1, 0.05]), tr.Extrusion(tr.Sinusoid(0.02, 0.9, 0.2))),
        (tr.Disc(0.2), tr.Extrusion(tr.Sinusoid(0.02, 0.9, 0.2))),
        (tr.Disc(0.2), tr.Ellipsoid([0.5, 0.7, 0.6])),
        (tr.Rounded(tr.Box([0.2, 0.1, 0.05]), 0.02), tr.Ellipsoid([0.5, 0.7, 0.6])),
    ],
    ids=repr,
)
def test_derivatives_of_the_nearest_point_are_those_of_differences(shape: tr.Shape, ground: tr.Shape) -> None:
    """Wherever the search for it ends: derivatives of its last step count, and numbers without end spoil them."""
    level, distance, d = ground.representations.level, ground.representations.distance, shape.d
    assert level is not None
    random, looked = np.random.default_rng(2), 0
    moved = ca.SX.sym("moved", 2 * d - 3 + d)
    turn = moved[: 2 * d - 3]
    skew = ca.skew(turn) if d == 3 else ca.vertcat(ca.horzcat(0, -turn), ca.horzcat(turn, 0))
    R, c = ca.SX.sym("R", d, d), ca.SX.sym("c", d)
    onto = ca.Function("onto", [c], [level.level(c), ca.gradient(level.level(c), c)])
    for feature in features_on(shape, ground):
        nearest = FeatureContact(feature, level, (), distance)._nearest
        y, foot, n, *_, margin = nearest.call([(ca.SX.eye(d) + skew) @ R, c + moved[2 * d - 3 :]])
        point = ca.vertcat(y, foot, n)
        values = ca.Function("values", [moved, R, c], [point, ca.jacobian(point, moved), margin])
        found = (
            1e-3 - 1e-7 if feature.rounding and distance is None else 5e-4
        )  # the last step to a foot is in its margin
        for _ in range(50):
            at = random.normal(size=d)
            for _ in range(20):  # onto the ground
                f, fx = (np.asarray(v).ravel() for v in onto(at))
                at = at - fx * f / (fx @ fx)
            turned = Rotation.random(random_state=random).as_matrix() if d == 3 else _rotation(random.uniform(-4, 4))
            inside = np.zeros(d)
            if feature.inside:
                inside = -0.5 * random.uniform(0.0, 1.0) * np.array(feature.inside[0][0]) * feature.inside[0][1]
            begin = at + fx / np.linalg.norm(fx) * feature.rounding - turned @ inside
            _, derived, least = (np.asarray(v) for v in values(0.0, turned, begin))
            steps = 1e-6 * np.eye(moved.numel())
            beside = [[values(side * step, turned, begin) for side in (-1, 1)] for step in steps]
            if min([least.item(), *(float(one[2]) for pair in beside for one in pair)]) < found:
                continue
            looked += 1
            differences = [(np.asarray(after[0]) - np.asarray(before[0])) / 2e-6 for before, after in beside]
            np.testing.assert_allclose(derived, np.hstack(differences), rtol=1e-4, atol=1e-4)
    assert looked > 10


def _rotation(angle: float) -> np.ndarray:
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
