from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from trundle.models import RollingTree
from trundle.systems.planar.plant_error import PlantError, resize_outline
from trundle.systems.planar.state_adapter import ModelStateAdapter


def cart(com: tuple[float, float] = (0.01, 0.02), link_com: tuple[float, float] = (0.0, -0.1)) -> RollingTree:
    robot = tr.Robot(gravity=9.81)
    base = robot.free(20.0, 1.2, center_of_mass=com, name="base")
    leg = robot.revolute(base, at=(0.3, -0.1), mass=2.0, inertia=0.02, center_of_mass=link_com, name="leg")
    robot.revolute(leg, at=(0.0, -0.2), mass=1.0, inertia=0.01, shape=tr.Circle(0.12), name="front")
    robot.revolute(base, at=(-0.4, -0.3), mass=1.0, inertia=0.01, shape=tr.Ellipse((0.13, 0.11)), name="rear")
    robot.terrain(tr.Sinusoid(0.03, 1.5), friction=0.8)
    return robot.finish()


POSE = {"base": (0.1, 0.45, 0.05), "leg": 0.2}
RATES = {"base": (0.3, 0.5, -0.1), "leg": 0.4}


def free_flight(tree: RollingTree, u: np.ndarray) -> dict[str, np.ndarray]:
    """Accelerations by body in the air, and where the user's frame of the base is."""
    from trundle.contact.laws import SEPARATED

    start = tree.place(contacts=[], rates=RATES, **{**POSE, "base": (0.1, 1.0, 0.05)})
    model = tree.system.model()
    dynamics = model.dynamics([SEPARATED] * len(model.constraints))
    motion = model.motions["base"].at(ca.SX(ca.DM(tree.origins["base"])))
    of = ca.Function("f", [model.x, model.u], [dynamics.nudot, motion.p, motion.v, dynamics.energy])
    nudot, p, v, energy = (np.array(value).ravel() for value in of(start.x, u))
    joints = {name: nudot[model.columns[name]] for name in ("leg", "front", "rear")}
    turn = {"turn": nudot[model.columns["base"]], "energy": energy}
    return {key: np.atleast_1d(value) for key, value in (joints | turn | {"p": p, "v": v}).items()}


def test_a_moved_centre_of_mass_is_that_of_a_robot_built_so() -> None:
    changed = PlantError(center_of_mass={"base": (0.05, -0.03), "leg": (0.02, 0.01)}).of(cart())
    built = cart((0.06, -0.01), (0.02, -0.09))
    u = np.array([1.0, -2.0, 0.5])
    one, other = free_flight(changed, u), free_flight(built, u)
    for key, value in one.items():
        np.testing.assert_allclose(value, other[key], rtol=1e-12, atol=1e-12, err_msg=key)


def test_shapes_and_ground_are_replaced_and_starts_close_onto_them() -> None:
    ground = tr.Sinusoid(0.05, 1.1, 0.3)
    plant = PlantError(size={"front": 1.1, "rear": 0.9}, terrain=ground, friction=0.5).of(cart())
    shapes = {part.name: part.shape for part in plant.parts}
    assert shapes["front"].radius == pytest.approx(0.132)
    np.testing.assert_allclose(shapes["rear"].semi_axes, (0.117, 0.099))
    start = plant.place(tolerance=0.3, **POSE)
    run = tr.simulate(plant, start, 0.05)
    assert np.abs(run["gap"]).max() < 1e-12
    assert run.metadata["physics"]["frictions"]["rear"] == pytest.approx(0.4)


@pytest.mark.slow
def test_joints_resist_their_rates() -> None:
    """What the energy loses is damping rate^2 + dry tanh(rate / 0.02) rate."""
    tree = PlantError(damping=0.3, dry_friction=0.2).of(cart())
    start = tree.place(contacts=[], rates=RATES | {"rear": 3.0}, **{**POSE, "base": (0.1, 1.0, 0.05)})
    run = tr.simulate(tree, start, 0.2, relative_tolerance=1e-11, output_step=2e-4)
    rates = run["joint_velocity"]
    power = np.sum(0.3 * rates**2 + 0.2 * np.tanh(rates / 0.02) * rates, axis=1)
    lost = np.concatenate([[0.0], np.cumsum((power[1:] + power[:-1]) / 2 * np.diff(run.time))])
    assert lost[-1] > 0.04
    assert run.metadata["physics"]["resisting"] == ["leg", "front", "rear"]
    np.testing.assert_allclose(run["energy"][0] - run["energy"], lost, atol=2e-4 * lost[-1])


def test_joints_keep_the_springs_and_dampers_they_have() -> None:
    sprung = cart().with_springs({"rear": 5.0}, {"rear": 0.4}, {"rear": 0.1})
    rear = next(spec for spec in PlantError(damping=0.3, mass=1.1).of(sprung).tree.specs if spec.name == "rear")
    assert (rear.stiffness, rear.damping, rear.rest) == (5.0, pytest.approx(0.7), 0.1)


def test_a_controller_sees_the_frames_and_not_the_centres_of_mass() -> None:
    model = cart()
    plant = PlantError(center_of_mass={"base": (0.05, -0.03)}).of(model)

    class Seen:
        period = 0.01

        def reset(self) -> None:
            self.state, self.touching = np.zeros(0), ()

        def sense_contacts(self, time: float, touching: tuple[bool, ...]) -> None:
            self.touching = touching

        def __call__(self, time: float, state: np.ndarray) -> np.ndarray:
            self.state = state
            return np.zeros(3)

    seen = Seen()
    view = ModelStateAdapter(seen, model, plant)
    view.reset()
    where = {**POSE, "base": (0.1, 1.0, 0.4)}
    view(0.0, plant.place(contacts=[], rates=RATES, **where).x)
    expected = np.array(model.place(contacts=[], rates=RATES, **where).x)
    layout = model.system.model().layout
    for key, place in layout.items():
        wanted = 0.0 * expected[place] if key.endswith(".coordinates") else expected[place]
        np.testing.assert_allclose(seen.state[place], wanted, atol=1e-14, err_msg=key)
    names = [contact_pair.contact for contact_pair in plant.system.contact_pairs]
    view.sense_contacts(0.0, tuple(name in ("rear", "rear-second") for name in names))
    told = dict(zip([m.contact for m in model.system.contact_pairs], seen.touching, strict=True))
    assert [name for name, touches in told.items() if touches] == [n for n in told if n.startswith("rear")]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"center_of_mass": {"bass": (0.0, 0.0)}}, "center_of_mass.bass"),
        ({"center_of_mass": {"base": (0.0, float("nan"))}}, "center_of_mass"),
        ({"size": {"base": 1.1}}, "size.base"),
        ({"size": {"front": 0.0}}, "size"),
        ({"mass": -1.0}, "mass"),
        ({"damping": -1.0}, "damping"),
    ],
)
def test_faults_name_the_key(given: dict, line: str) -> None:
    with pytest.raises(tr.InputError, match=line):
        PlantError(**given).of(cart())


def test_outlines_of_every_kind_are_resized_about_their_origin() -> None:
    angles = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    ring = tr.geometry.SampledCurve(np.column_stack((np.cos(angles), 0.8 * np.sin(angles))).tolist(), closed=True)
    for shape in (tr.Circle(0.2), tr.Ellipse((0.3, 0.2)), tr.FourierRadius(0.3, (0.0, 0.1), ()), ring):
        np.testing.assert_allclose(resize_outline(shape, 1.5).mesh(50), 1.5 * np.asarray(shape.mesh(50)), atol=1e-12)
    with pytest.raises(tr.InputError, match="Circle"):
        resize_outline(tr.Line(), 1.5)
