"""Numbers of models by name: found, changed, and kept as symbols where expressions can hold them."""

import pickle

import numpy as np
import pytest

import trundle as tr
from trundle.models.numbers.changed import at_values, free_numbers

HELD = (
    (tr.Sphere(0.1), tr.Plane(), "radius"),
    (tr.Ellipsoid([0.1, 0.12, 0.08]), tr.Plane(), "semi_axes[1]"),
    (tr.Ellipsoid([0.1, 0.1, 0.1]), tr.Dish([0.5, 0.5, 0.5]), "semi_axes[0]"),
    (tr.Torus(0.1, 0.03), tr.Plane(), "minor"),
    (tr.Sphere(0.1), tr.Sphere(1.0), "shape_at[2]"),
)


@pytest.mark.parametrize(("body", "ground", "name"), HELD)
def test_sizes_of_closed_forms_may_be_free(body: tr.Shape, ground: tr.Shape, name: str) -> None:
    pair = tr.RollingPair(tr.RigidBody(body, mass=1.0), tr.Hand(ground))
    system = free_numbers(pair.system, [f"object.{name}"])
    assert system.free is not None
    assert system.free.values.tolist() == [tr.parameters_of(pair)[f"object.{name}"]]


def test_systems_with_other_values_share_what_is_compiled() -> None:
    pair = tr.RollingPair(tr.RigidBody(tr.Circle(0.1), mass=0.5, inertia=0.003), tr.Ground(tr.Line(slope=-0.1)))
    system = free_numbers(pair.system, ["body.inertia"])
    other = at_values(system, np.array([0.004]))
    runs = [tr.simulate(one, pair.place(), 0.5) for one in (system, other)]
    plain = tr.simulate(tr.with_parameters(pair, {"body.inertia": 0.004}), pair.place(), 0.5)
    assert other.free is not None
    assert other.free.phases is system.free.phases  # pyright: ignore[reportOptionalMemberAccess]
    np.testing.assert_allclose(runs[1]["body_position"], plain["body_position"], atol=1e-12)
    assert abs(runs[0]["body_position"][-1] - plain["body_position"][-1]).max() > 1e-3


def test_a_changed_model_travels() -> None:
    pair = tr.RollingPair(tr.RigidBody(tr.Circle(0.1), mass=0.5), tr.Ground(tr.Line(slope=-0.1)))
    changed = tr.with_parameters(pair, {"body.radius": 0.12})
    copied = pickle.loads(pickle.dumps(changed))
    assert tr.parameters_of(copied) == tr.parameters_of(changed)
    assert tr.parameters_of(changed)["body.inertia"] == tr.parameters_of(pair)["body.inertia"]


def test_names_of_a_robot() -> None:
    robot = tr.Robot()
    body = robot.free(2.0, 0.02, name="body")
    robot.revolute(body, (0.1, -0.05), 0.2, shape=tr.Circle(0.05), friction=0.7, name="front")
    robot.revolute(body, (-0.1, -0.05), 0.2, shape=tr.Circle(0.06), name="rear")
    robot.terrain(tr.geometry.CurveSum([tr.Line(slope=0.1), tr.Sinusoid(0.05, 0.8)]), friction=0.5)
    numbers = tr.parameters_of(robot.finish())
    assert (numbers["front.friction"], numbers["rear.friction"], numbers["rear.radius"]) == (0.7, 0.5, 0.06)
    assert (numbers["terrain.terms[0].slope"], numbers["terrain.terms[1].wavelength"]) == (0.1, 0.8)
    assert "friction" not in numbers  # they differ
