"""The verb `export`: a scenario's model, and its controller where it is a gain schedule, as C with a self-check."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.control import BalancingLQR, TrackingLQR
from trundle.errors import InputError, StorageError
from trundle.records.whole import storing, write_bytes
from trundle.scenarios.engine import export_text as text
from trundle.scenarios.engine.building import Experiment, Regulated, Simulation, build
from trundle.scenarios.engine.folder import OwnedFolder, owned
from trundle.scenarios.scenario import Scenario, load_scenario
from trundle.scratch import scratch

_SAMPLES = 20
_SPREAD = 1e-3


@dataclass(frozen=True)
class Exported:
    """Result of an export: its folder, the prefix of all C names, and which controller was written, if any."""

    directory: Path
    name: str
    controller: str


@dataclass(frozen=True)
class Feedback:
    """Sampled feedback u = held - K e: arrays over N + 1 sampling times, of which row N applies after the end.

    Attributes
    ----------
    law : casadi.Function
        (x, features of the reference, held input, K by rows) -> u.
    period, first, last : float s
    reference, held, gains : (N + 1, n_phi), (N + 1, n_u), (N + 1, n_used * n_e)
    """

    law: ca.Function
    policy: BalancingLQR | TrackingLQR
    period: float
    first: float
    last: float
    reference: FloatArray
    held: FloatArray
    gains: FloatArray


def export(scenario: Scenario | str | Path, out: str | Path) -> Exported:
    """Write C source of a scenario's equations of motion and of its controller.

    The model is x' = f(x, u) in the mode and on the charts of the start, with the contact forces. Controllers that are
    gains on the local error (`BalancingLQR`, `TrackingLQR`) are written as arrays and one function; the plan that they
    track, if any, is computed first. ``main.c`` compares both with values that Python computed.

    Parameters
    ----------
    scenario : Scenario, str or Path
    out : path
        Folder: new, empty, or that of an earlier export.

    Raises
    ------
    InputError
        If the scenario or the folder is not acceptable, or the kind has no model that can be written as C.
    SimulationError
        If the plan that the controller follows could not be made.
    """
    if not isinstance(scenario, Scenario):
        scenario = load_scenario(scenario)
    with owned(out, "export", "that of an earlier export", beside=["build"]) as folder:
        return _written(scenario, folder)


def _written(scenario: Scenario, folder: OwnedFolder) -> Exported:
    work = build(scenario)
    model, x = _model(scenario, work)
    name = re.sub(r"[^a-z0-9]+", "_", f"trundle_{scenario.name}".lower()).strip("_")
    feedback, said = _controller(work)
    functions = {f"{name}_model": model} | ({f"{name}_law": feedback.law} if feedback else {})
    samples = _samples(model, x, feedback, scenario.seed)
    files = _generated(name, functions) | text.texts(name, scenario.name, model, feedback, samples)
    for file, content in files.items():
        write_bytes(folder.target(file), content.encode())
    return Exported(folder.path, name, said)


def _model(scenario: Scenario, work: Experiment) -> tuple[ca.Function, FloatArray]:
    """Return (x, u) -> (x', contact forces), in the mode of the start, and the start."""
    simple = isinstance(work, Simulation)
    start = work.initial if simple else getattr(work, "start", None)
    plant = work.model if simple else getattr(work, "pair", getattr(work, "tree", None))
    if start is None or plant is None:
        what = f"kind '{scenario.kind}', task '{scenario.task}'"
        raise InputError(
            "NAME", scenario.name, f"a scenario that simulates one model from one start, not one of {what}"
        )
    system = plant.system
    found = system.model(start.atlas).dynamics(start.laws or system.start_laws)
    forces = ca.vertcat(*found.forces) if found.forces else ca.SX(0, 1)
    outputs = [ca.densify(found.xdot), ca.densify(forces)]
    names = (["x", "u"], ["xdot", "force"])
    return ca.Function("model", [found.x, found.u], outputs, *names, {"cse": True}), np.asarray(start.x)


def _controller(work: Experiment) -> tuple[Feedback | None, str]:
    """Return the controller of an experiment as arrays, if it can be written, and a note that says what was written."""
    policy = _policy(work)
    if policy is None:
        return None, "none" if isinstance(work, Simulation) else "not written: it is no schedule of gains"
    error, used = policy.error, list(policy.used)
    last_one = policy if isinstance(policy, BalancingLQR) else policy.after
    if last_one is not None and len(last_one.regulator.C):
        return None, "not written: its integrals have a state of their own (leave out controller.integral)"
    if isinstance(policy, BalancingLQR):
        reference = error.of_reference(policy.target.x)[None]
        held, gains = np.zeros((1, error.inputs)), policy.regulator.K[None]
        first, last = 0.0, 0.0
    else:
        reference = error.of_reference(policy.states)
        # As TrackingLQR does: the mean of the reference's inputs over each period, none after the end.
        held = np.vstack([(policy.inputs[:-1] + policy.inputs[1:]) / 2, np.zeros((1, error.inputs))])
        final = policy.schedule.K[-1]
        if policy.after is not None:
            final = policy.after.regulator.K
            reference = np.vstack([reference[:-1], policy.after.error.of_reference(policy.after.target.x)])
        gains = np.concatenate([policy.schedule.K[: len(held) - 1], final[None]])
        first, last = float(policy.times[0]), float(policy.times[-1])
    law = _law(policy, used)
    flat = gains.reshape(len(gains), -1)
    feedback = Feedback(law, policy, policy.period, first, last, np.atleast_2d(reference), held, flat)
    return feedback, f"{type(policy).__name__}, {len(gains)} gains of {len(used)} x {error.size}"


def _policy(work: Experiment) -> BalancingLQR | TrackingLQR | None:
    """Return the linear controller of an experiment (its plan is computed first); None for any other controller."""
    if not isinstance(work, Regulated):
        return None
    policy = work.regulator()
    return policy if isinstance(policy, BalancingLQR | TrackingLQR) else None


def _law(policy: BalancingLQR | TrackingLQR, used: Sequence[int]) -> ca.Function:
    """Return (x, reference, held, K) -> u: the local error, the gains and the limits."""
    error = policy.error
    candidates = error.feature_functions()
    x = ca.SX.sym("x", candidates[0].size1_in(0))
    features, amiss = candidates[0](x)
    for function in candidates[1:]:
        # The state does not say which charts it is on: they are those for which the bodies touch.
        other, distance = function(x)
        nearer = distance < amiss
        features, amiss = ca.if_else(nearer, other, features), ca.if_else(nearer, distance, amiss)
    reference, held = ca.SX.sym("reference", features.shape[0]), ca.SX.sym("held", error.inputs)
    K = ca.SX.sym("K", len(used) * error.size)
    u = ca.SX(held)
    u[list(used)] -= ca.reshape(K, error.size, len(used)).T @ error.expression(reference, features)
    for i, (low, high) in enumerate(zip(policy.limit.low, policy.limit.high, strict=True)):
        u[i] = ca.fmin(u[i], float(high)) if np.isfinite(high) else u[i]
        u[i] = ca.fmax(u[i], float(low)) if np.isfinite(low) else u[i]
    names = (["x", "reference", "held", "K"], ["u"])
    return ca.Function("law", [x, reference, held, K], [ca.densify(u)], *names, {"cse": True})


def _generated(name: str, functions: dict[str, ca.Function]) -> dict[str, str]:
    """Return CasADi's C source and header of the functions, under the names of their files."""
    stem = f"{name}_functions"
    generator = ca.CodeGenerator(stem, {"with_header": True, "cpp": False, "verbose": False})
    for c_name, function in functions.items():
        symbols = function.sx_in()
        results = function.call(symbols, True, False)
        generator.add(ca.Function(c_name, symbols, results, function.name_in(), function.name_out()))
    with storing("a temporary folder", allowed="one that can be written to"), scratch() as directory:
        generator.generate(f"{directory}/")
        found = {f"{stem}.{ending}": (directory / f"{stem}.{ending}").read_text() for ending in "ch"}
    if not all(content.endswith("#endif\n") for content in found.values()):  # CasADi does not say that a disk is full
        raise StorageError("a temporary folder cannot be written: CasADi's source is cut off")
    return found


def _samples(model: ca.Function, x: FloatArray, feedback: Feedback | None, seed: int) -> list[text.Sample]:
    """Return test samples: states near the start, times and inputs, with the values that Python computes for them."""
    rng = np.random.default_rng([seed, 2])
    samples = []
    for k in range(_SAMPLES):
        state = np.asarray(x + _SPREAD * rng.standard_normal(len(x)) * bool(k))
        u = rng.uniform(-1.0, 1.0, model.size1_in(1))
        rate, force = (np.asarray(v).ravel() for v in model(state, u))
        time, control = 0.0, None
        if feedback is not None:
            # In the middle of periods: at their ends round-off decides which row applies.
            count = len(feedback.held)
            time = feedback.first + (0.5 + round(k * count / (_SAMPLES - 1))) * feedback.period
            control = np.asarray(feedback.policy(time, state))
        samples.append(text.Sample(time, state, u, rate, force, control))
    return samples
