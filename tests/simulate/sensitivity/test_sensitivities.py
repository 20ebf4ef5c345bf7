"""Sensitivities of runs through changes of mode: closed forms, and central differences of whole simulations."""

import numpy as np
import pytest

import trundle as tr
from bench.sensitivities import LIMIT, SCENES, changes, differences, error, found
from trundle.errors import SimulationError


def test_a_disc_on_a_slope_by_its_numbers_in_closed_form() -> None:
    m, r, inertia, s, g, T = 0.5, 0.1, 0.003, 0.1, 9.81, 1.2
    pair = tr.RollingPair(tr.RigidBody(tr.Circle(r), mass=m, inertia=inertia), tr.Ground(tr.Line(slope=-s)))
    names = ["body.mass", "body.inertia", "body.radius", "terrain.slope", "gravity[1]"]
    found = tr.sensitivities(pair, pair.place(), T, parameters=names, initial=False, output_step=0.3)
    # Along the slope x = a t^2/2 with a = m g sin / (m + I/r^2); its horizontal part has cos.
    steep, whole = np.arctan(s), m + inertia / r**2
    a = m * g * np.sin(steep) * np.cos(steep) / whole
    by_slope = m * g * np.cos(2 * steep) / whole / (1 + s**2)
    by = np.array([a / m - a / whole, -a / whole / r**2, 2 * a * inertia / r**3 / whole, -by_slope, -a / g])
    t = found.times[:, None]
    # A body that grows on its contact point stays over it: its centre moves along the normal.
    moved = np.array([0.0, 0.0, np.sin(steep), 0.0, 0.0])
    x = found.of("body.position")[:, 0]
    moved[3] = x[0, 3]
    np.testing.assert_allclose(x, by * t**2 / 2 + moved, rtol=1e-8, atol=1e-9)
    assert found.names == tuple(names)


def test_a_ball_that_bounces_in_closed_form() -> None:
    # From the height h with v = -sqrt(2 g h): z(T) = e v (T - T1) - g (T - T1)^2/2 after the impact at T1.
    r, h, e, g, T = 0.1, 0.3, 0.8, 9.81, 0.4
    pair = tr.RollingPair(
        tr.RigidBody(tr.Circle(r), mass=1.0), tr.Ground(tr.Line()), on_separation="fly", restitution=e
    )
    start = pair.place(position=(0.0, r + h), velocity=(0.0, 0.0))
    found = tr.sensitivities(
        pair,
        start,
        T,
        parameters=["contact.restitution", "gravity[1]"],
        initial=["body.position.z", "body.velocity.z"],
    )
    v, T1 = np.sqrt(2 * g * h), np.sqrt(2 * h / g)
    left = T - T1
    by_e = v * left
    by_h = e * np.sqrt(g / (2 * h)) * left + (g * left - e * v) / v
    by_v = (g * left - e * v) / g  # thrown up with w it lands w/g later, to first order as fast as before
    by_g = -(e * h / v * left + (e * v - g * left) * T1 / (2 * g) - left**2 / 2)
    names = ("body.position.z", "body.velocity.z", "contact.restitution", "gravity[1]")
    assert found.names == names
    np.testing.assert_allclose(found.of("body.position")[-1, 1], [by_h, by_v, by_e, by_g], rtol=1e-8)


@pytest.mark.parametrize("name", ["stops", *(pytest.param(n, marks=pytest.mark.slow) for n in SCENES if n != "stops")])
def test_central_differences_through_changes_of_mode(name: str) -> None:
    scene = SCENES[name]
    model, start = scene.build()
    derived = found(scene, model, start)
    assert changes(derived.run) >= 3
    assert error(derived.derivatives[-1], differences(scene, model, start, derived.names)).max() < LIMIT


def test_numbers_changed_by_name_are_those_a_user_gives() -> None:
    def pair(mass: float, radius: float, mu: float, amplitude: float) -> tr.RollingPair:
        body = tr.RigidBody(tr.Circle(radius), mass=mass, inertia=0.003)
        return tr.RollingPair(body, tr.Ground(tr.Sinusoid(amplitude, 0.8)), friction=mu, on_slip="slide")

    first, other = pair(0.5, 0.1, 0.3, 0.05), pair(0.6, 0.11, 0.2, 0.06)
    named = {"body.mass": 0.6, "body.radius": 0.11, "contact.friction": 0.2, "terrain.amplitude": 0.06}
    changed = tr.with_parameters(first, named)
    start = other.place(contact_x=0.1, angular_velocity=-2.0)
    runs = [tr.simulate(model, start, 0.3, output_step=0.1) for model in (other, changed)]
    assert np.array_equal(runs[0].samples[-1].states, runs[1].samples[-1].states)
    assert named.items() <= tr.parameters_of(changed).items()


def test_what_has_no_derivative_or_name_is_refused() -> None:
    pair = tr.RollingPair(tr.RigidBody(tr.Circle(0.1), mass=0.5), tr.Ground(tr.Line()))
    start = pair.place(angular_velocity=-1.0)
    for options in ({"parameters": ["mass"]}, {"initial": ["mass"]}, {"initial": False}, {"inputs": True}):
        with pytest.raises(tr.InputError):
            tr.sensitivities(pair, start, 0.1, **options)  # pyright: ignore[reportArgumentType]
    with pytest.raises(tr.InputError, match=r"contact\.friction"):
        tr.with_parameters(pair, {"contact.friction": -1.0})
    with pytest.raises(tr.InputError, match=r"body\.mass"):
        tr.with_parameters(pair, {"body.mass": 0.0})


def test_two_contacts_that_close_at_once_have_no_derivative() -> None:
    robot = tr.Robot(on_slip="slide", on_separation="fly")
    body = robot.free(2.0, 0.02, name="body")
    for name, x in (("rear", -0.1), ("front", 0.1)):
        robot.revolute(body, (x, -0.05), 0.2, shape=tr.Circle(0.05), name=name)
    robot.terrain(tr.Line(), friction=0.4)
    tree = robot.finish()
    level = tree.place(body=(0.0, 0.3, 0.0), contacts=[])
    with pytest.raises(SimulationError, match="no derivative"):
        tr.sensitivities(tree, level, 0.3)
