"""Contact of corners, edges and faces: the nearest one is where a polytope is nearest."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import trundle as tr
from trundle.contact.choice import contact_form, pieces_of
from trundle.contact.feature import FeatureContact


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
    saddle = tr.ExpressionLevelSurface(lambda x, y, z: z - 0.3 * (x * x - y * y), size=1.0)
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
