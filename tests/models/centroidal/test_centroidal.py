"""The centroidal model and its exact samples against numerical integration of point forces."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.oracles import centroidal as oracle
from trundle.contact.patch import FlatPatch, PlacedPatch
from trundle.errors import InputError
from trundle.systems.multicontact.centroidal import samples as cs
from trundle.systems.multicontact.centroidal.centroidal import Centroidal, CentroidalState, Push, projection_frame

GRAVITY = np.array([0.0, 0.0, -9.81])
LEVEL = projection_frame((0, 0, 1))


class Case:
    """A random run: K samples, up to four tilted contacts that come and go, pushes of both kinds."""

    def __init__(self, seed: int, contacts: int, pushes: bool = True, count: int = 8) -> None:
        rng = np.random.default_rng(seed)
        self.mass = rng.uniform(20, 90)
        self.W = Rotation.random(random_state=rng).as_matrix()
        self.durations = rng.uniform(0.02, 0.3, count)
        self.start = rng.normal(size=3), 0.5 * rng.normal(size=3), 3 * rng.normal(size=3)
        self.placed = []
        for i in range(contacts):
            corners = FlatPatch.rectangle(*rng.uniform(0.05, 0.3, 2), friction=0.7)
            R = Rotation.random(random_state=rng).as_matrix()
            self.placed.append(PlacedPatch(f"c{i}", corners, rng.normal(size=3), R))
        self.on = rng.random((count, contacts)) < 0.75
        self.corner_forces = 60 * rng.normal(size=(count, contacts, 4, 3))  # patch frames
        self.pushes = [
            (Push(30 * rng.normal(size=3), 5 * rng.normal(size=3), rng.normal(size=3)), Push(20 * rng.normal(size=3)))
            if pushes
            else ()
            for _ in range(count)
        ]

    def wrench(self, k: int, i: int) -> np.ndarray:
        corners = np.column_stack((self.placed[i].patch.vertices, np.zeros(4)))
        f = self.corner_forces[k, i]
        return np.concatenate((np.cross(corners, f).sum(axis=0), f.sum(axis=0)))

    def oracle(self) -> np.ndarray:
        pieces = []
        for k, duration in enumerate(self.durations):
            points, forces = np.zeros((0, 3)), np.zeros((0, 3))
            for i, c in enumerate(self.placed):
                if self.on[k, i]:
                    points = np.vstack((points, c.corners))
                    forces = np.vstack((forces, self.corner_forces[k, i] @ c.R_world_patch.T))
            carried, couple = np.zeros(3), np.zeros(3)
            for push in self.pushes[k]:
                couple = couple + push.moment
                if push.point is None:
                    carried = carried + push.force
                else:
                    points, forces = np.vstack((points, push.point)), np.vstack((forces, push.force))
            pieces.append((duration, oracle.Forces(points, forces, carried, couple)))
        return oracle.fall(self.mass, GRAVITY, self.start, pieces)

    def samples(self, exact: np.ndarray, frames: np.ndarray | None = None) -> cs.PreviewSamples:
        """What a user prescribes: here, the motion along the axis that the oracle found."""
        W = np.tile(self.W, (len(self.durations), 1, 1)) if frames is None else frames
        w3 = W[:, 2]
        rise = np.diff(exact[:, 3:6], axis=0) / self.durations[:, None]
        total = [sum((p.force for p in now), np.zeros(3)) for now in self.pushes]
        pointed = [sum((p.pointed for p in now), np.zeros(3)) for now in self.pushes]
        moment = [sum((p.moment_at_origin for p in now), np.zeros(3)) for now in self.pushes]
        along = [np.sum(w3 * part, axis=1) for part in (exact[:-1, :3], exact[:-1, 3:6], rise)]
        known = (np.array(part) for part in (total, pointed, moment))
        return cs.PreviewSamples(self.durations, np.full(len(W), self.mass), W, *along, GRAVITY, *known)


def linear_state(W: np.ndarray, mass: float, state: np.ndarray) -> np.ndarray:
    r, v, L = (W @ part for part in np.split(state, 3))
    return np.array([mass * r[0], mass * v[0], mass * r[1], mass * v[1], L[0], L[1]])


def gains(case: Case, stages: cs.Stages, about: np.ndarray | None = None) -> np.ndarray:
    """Sum of B w over the contacts, (K, 6), or with the rows along the axis, about points (K, 3), (K, 8)."""
    count = len(case.durations)
    if not case.placed:
        return np.zeros((count, 6 if about is None else 8))
    places = np.tile([c.position for c in case.placed], (count, 1, 1))
    turns = np.tile([c.R_world_patch for c in case.placed], (count, 1, 1, 1))
    B = stages.inputs(places, turns) if about is None else stages.reach(places, turns, about)
    w = np.array([[case.wrench(k, i) * case.on[k, i] for i in range(len(case.placed))] for k in range(count)])
    return np.einsum("knij,knj->ki", B, w)


@pytest.mark.parametrize("contacts", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("pushes", [False, True])
def test_samples_are_exact(contacts: int, pushes: bool) -> None:
    for seed in range(3):
        case = Case(seed, contacts, pushes)
        exact = case.oracle()
        stages = cs.discretise(case.samples(exact))
        x, gain = linear_state(case.W, case.mass, exact[0]), gains(case, stages)
        wanted = np.array([linear_state(case.W, case.mass, state) for state in exact])
        for k in range(len(case.durations)):
            x = stages.A[k] @ x + gain[k] + stages.C[k]
            np.testing.assert_allclose(x, wanted[k + 1], atol=1e-10 * np.abs(wanted).max(), rtol=0)


@pytest.mark.parametrize("contacts", [0, 2, 4])
def test_the_force_along_the_axis_is_what_the_contacts_push(contacts: int) -> None:
    case = Case(5, contacts)
    samples = case.samples(case.oracle())
    reached = gains(case, cs.discretise(samples), np.zeros((len(case.durations), 3)))[:, 6]
    np.testing.assert_allclose(reached, samples.privileged_force, atol=1e-8 * case.mass)
    for k, wanted in enumerate(samples.privileged_force):
        pushed = sum(
            (case.placed[i].R_world_patch @ case.wrench(k, i)[3:] for i in range(contacts) if case.on[k, i]),
            np.zeros(3),
        )
        assert case.W[2] @ pushed == pytest.approx(wanted, abs=1e-8 * case.mass)


def test_the_dropped_component_is_computed_exactly() -> None:
    for seed in range(4):
        case = Case(seed, 3)
        exact = case.oracle()
        states = np.array([linear_state(case.W, case.mass, state) for state in exact])
        samples, about = case.samples(exact), np.random.default_rng(seed).normal(size=(len(states) - 1, 3))
        added = gains(case, cs.discretise(samples), about)
        gain = cs.third_momentum_gain(samples, states[:-1], states[1:], added, about)
        np.testing.assert_allclose(gain, np.diff(exact[:, 6:] @ case.W[2]), atol=1e-9 * np.abs(exact[:, 6:]).max())


def test_the_privileged_axis_may_change_inside_a_window() -> None:
    case = Case(11, 2)
    exact, count = case.oracle(), len(case.durations)
    frames = np.tile(case.W, (count, 1, 1))
    frames[4:] = Rotation.random(random_state=3).as_matrix()
    samples = case.samples(exact, frames)
    stages, x = cs.discretise(samples), linear_state(case.W, case.mass, exact[0])
    gain = gains(case, stages)
    for k in range(count):
        if k == 4:
            third = frames[3, 2] @ exact[4, 6:]
            height, speed = frames[3, 2] @ exact[4, :3], frames[3, 2] @ exact[4, 3:6]
            E, e = cs.frame_change(frames[3], frames[4], height, speed, third, case.mass)
            x = E @ x + e
        x = stages.A[k] @ x + gain[k] + stages.C[k]
        wanted = linear_state(frames[k], case.mass, exact[k + 1])
        np.testing.assert_allclose(x, wanted, atol=1e-10 * case.mass * np.abs(exact).max(), rtol=0)


@pytest.mark.parametrize("contacts", [0, 1, 4])
def test_the_whole_model_advances_exactly(contacts: int) -> None:
    case = Case(21, contacts)
    exact = case.oracle()
    model, state = Centroidal(case.mass), CentroidalState(*case.start)
    for k, duration in enumerate(case.durations):
        held = [i for i in range(contacts) if case.on[k, i]]
        placed = [case.placed[i] for i in held]
        wrenches = np.array([case.wrench(k, i) for i in held]).reshape(-1, 6)
        pushes = case.pushes[k]
        acceleration, turn = model.rate(state, placed, wrenches, pushes)
        near = model.advance(state, placed, wrenches, 1e-6, pushes)
        np.testing.assert_allclose((near.velocity - state.velocity) / 1e-6, acceleration, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose((near.angular_momentum - state.angular_momentum) / 1e-6, turn, rtol=1e-4, atol=1e-3)
        state = model.advance(state, placed, wrenches, duration, pushes)
        found = np.concatenate((state.position, state.velocity, state.angular_momentum))
        np.testing.assert_allclose(found, exact[k + 1], atol=1e-10 * np.abs(exact).max(), rtol=0)


def test_joining_and_parting_keep_all_momenta() -> None:
    rng = np.random.default_rng(4)
    robot, box = (CentroidalState(*rng.normal(size=(3, 3))) for _ in range(2))
    model = Centroidal(33.0)
    whole, state = model.with_body(robot, 2.0, box)

    def about_origin(mass: float, s: CentroidalState) -> np.ndarray:
        return s.angular_momentum + mass * np.cross(s.position, s.velocity)

    assert whole.mass == 35.0
    np.testing.assert_allclose(35 * state.position, 33 * robot.position + 2 * box.position, atol=1e-13)
    np.testing.assert_allclose(35 * state.velocity, 33 * robot.velocity + 2 * box.velocity, atol=1e-13)
    np.testing.assert_allclose(about_origin(35, state), about_origin(33, robot) + about_origin(2, box), atol=1e-12)
    alone, back = whole.without_body(state, 2.0, box)
    assert alone.mass == pytest.approx(33.0)
    for name in ("position", "velocity", "angular_momentum"):
        np.testing.assert_allclose(getattr(back, name), getattr(robot, name), atol=1e-13)
    with pytest.raises(InputError, match="less than the whole mass"):
        model.without_body(robot, 33.0, box)


def test_resets_of_the_linear_state_are_those_of_the_model() -> None:
    rng = np.random.default_rng(6)
    W = Rotation.random(random_state=1).as_matrix()
    robot = CentroidalState(*rng.normal(size=(3, 3)))
    box = CentroidalState(rng.normal(size=3), robot.velocity)
    _, state = Centroidal(33.0).with_body(robot, 2.0, box)
    x = linear_state(W, 33.0, np.concatenate((robot.position, robot.velocity, robot.angular_momentum)))
    wanted = linear_state(W, 35.0, np.concatenate((state.position, state.velocity, state.angular_momentum)))
    np.testing.assert_allclose(x + cs.first_moments(2.0, box.position, box.velocity, W), wanted, atol=1e-12)
    kept = linear_state(W, 35.0, np.concatenate((robot.position, robot.velocity, robot.angular_momentum)))
    np.testing.assert_allclose(cs.mass_reset(33.0, 35.0) * x, kept, atol=1e-12)
    with pytest.raises(InputError, match="positive"):
        cs.mass_reset(33.0, 0.0)


def test_a_body_that_moves_and_spins_joins_and_leaves_exactly() -> None:
    rng = np.random.default_rng(8)
    W = Rotation.random(random_state=2).as_matrix()
    robot, box = (CentroidalState(*rng.normal(size=(3, 3))) for _ in range(2))
    for mass, after in (
        (2.0, Centroidal(33.0).with_body(robot, 2.0, box)[1]),
        (-2.0, Centroidal(33.0).without_body(robot, 2.0, box)[1]),
    ):
        body = cs.AttachedBody(mass, box.position, box.velocity, box.angular_momentum)
        E, e = cs.attachment(body, W, 33.0, W[2] @ robot.position, W[2] @ robot.velocity)
        x = linear_state(W, 33.0, np.concatenate((robot.position, robot.velocity, robot.angular_momentum)))
        wanted = linear_state(W, 33.0 + mass, np.concatenate((after.position, after.velocity, after.angular_momentum)))
        np.testing.assert_allclose(E @ x + e, wanted, atol=1e-12)
        jump = body.momentum_jump(33.0, robot.position, robot.velocity)
        np.testing.assert_allclose(jump, after.angular_momentum - robot.angular_momentum, atol=1e-12)


@pytest.mark.parametrize("axis", [(0, 0, 1), (1, 0, 0), (0, -2, 0), (1, 1, 1)])
def test_projection_frames_are_right_handed(axis: tuple[float, ...]) -> None:
    W = projection_frame(axis)
    np.testing.assert_allclose(W @ W.T, np.eye(3), atol=1e-14)
    assert np.linalg.det(W) == pytest.approx(1.0)
    np.testing.assert_allclose(W[2], np.array(axis) / np.linalg.norm(axis))


def test_the_upright_frame_is_the_world() -> None:
    np.testing.assert_array_equal(LEVEL, np.eye(3))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: Centroidal(-1.0), "mass"),
        (lambda: CentroidalState((0, 0, np.nan)), "position"),
        (lambda: Push(force=(0, np.inf, 0)), "force"),
        (lambda: projection_frame((0, 0, 0)), "direction"),
        (lambda: Centroidal(1.0).advance(CentroidalState((0, 0, 0)), [], np.zeros((0, 6)), 0.0), "duration"),
        (lambda: Centroidal(1.0).forces([], np.zeros((1, 6))), "wrenches"),
    ],
)
def test_wrong_input_is_named(call, text: str) -> None:
    with pytest.raises(InputError, match=text):
        call()
