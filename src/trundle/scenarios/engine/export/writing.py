"""The verb `export`: a scenario's model, and its controller where it is a gain schedule, as C with a self-check."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.contact.laws import LAWS
from trundle.control import BalancingLQR, TrackingLQR
from trundle.control.tick import ControlTick, RecordedTicks
from trundle.errors import InputError, StorageError
from trundle.models import RollingPair, RollingTree, Start
from trundle.models.tree.model import TreeModel
from trundle.numerics.compiled.compile import rename_function
from trundle.records import Policy
from trundle.records.whole import storing, write_bytes
from trundle.scenarios.engine.building import Experiment, Regulated, Simulation, Staged, Ticked, build
from trundle.scenarios.engine.export import text, ticks
from trundle.scenarios.engine.export.feedback import Feedback, feedback_of
from trundle.scenarios.engine.folder import OwnedFolder, own_folder
from trundle.scenarios.scenario import Scenario, load_scenario
from trundle.scratch import scratch

_SAMPLES = 20  # calls that an exported feedback is compared at
_SPREAD = 1e-3  # of states beside the plan, in SI: small against any motion


@dataclass(frozen=True)
class Exported:
    """Result of an export: its folder, the prefix of all C names, which controller was written, and whether a model."""

    directory: Path
    name: str
    controller: str
    model: bool


def export(scenario: Scenario | str | Path, out: str | Path) -> Exported:
    """Write C source of a scenario's equations of motion and of its controller.

    The model is x' = f(x, u) in the mode and on the charts of the start, with the contact forces. Controllers that are
    gains on the local error (`BalancingLQR`, `TrackingLQR`) are written as arrays and one function; the plan that they
    track, if any, is computed first. Controllers that solve quadratic programs (`trundle.control.tick.Ticking`) are
    written as one tick, with a solver. Where an experiment offers a tick or optimal control problems itself (`Ticked`,
    `Staged`), these are written without a model. ``main.c`` compares all with values that Python computed.

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
    with own_folder(out, "export", "that of an earlier export", beside=["build"]) as folder:
        return _write_sources(scenario, folder)


def _write_sources(scenario: Scenario, folder: OwnedFolder) -> Exported:
    work = build(scenario)
    name = re.sub(r"[^a-z0-9]+", "_", f"trundle_{scenario.name}".lower()).strip("_")
    contents, said = _contents(scenario, work)
    files = _generate_c(name, contents.functions(name)) | contents.texts(name, scenario.name)
    for file, content in files.items():
        write_bytes(folder.target(file), content.encode())
    return Exported(folder.path, name, said, contents.model is not None)


def _contents(scenario: Scenario, work: Experiment) -> tuple[text.Contents, str]:
    """Return what is written, and what is said of the controller."""
    if isinstance(work, Ticked):
        found = work.recorded_ticks()
        said = (f"{name}, {tick}" if name else str(tick) for name, (tick, _) in found.items())
        return text.Contents(ticks=found), "; ".join(said)
    if isinstance(work, Staged):
        stages = work.recorded_stages()
        said = (f"stages of '{name}', {one.problem.stages} of them" for name, one in stages.items())
        return text.Contents(stages=stages), ", ".join(said)
    plant = _plant(scenario, work)
    tree, model, x = _model(*plant)
    feedback, tick, said = _controller(work, plant)
    found = {} if tick is None else {"": tick}
    return text.Contents((tree, model), feedback, _samples(model, x, feedback, scenario.seed), found), said


def _controller(
    work: Experiment, plant: tuple[RollingPair | RollingTree, Start]
) -> tuple[Feedback | None, tuple[ControlTick, RecordedTicks] | None, str]:
    """Return the controller as gains or as a tick, if it can be written, and what was written."""
    policy = _policy(work)
    if isinstance(policy, BalancingLQR | TrackingLQR):
        feedback = feedback_of(policy)
        if isinstance(feedback, Feedback):
            return feedback, None, str(feedback)
        return None, None, f"not written: {feedback}"
    if policy is None:
        return None, None, "none"
    tick = ticks.record(*plant, policy)
    if isinstance(tick, str):
        return None, None, f"not written: {tick}"
    return None, tick, f"{type(policy).__name__}, {tick[0]}"


def _plant(scenario: Scenario, work: Experiment) -> tuple[RollingPair | RollingTree, Start]:
    """Return the one model and the start of an experiment."""
    simple = isinstance(work, Simulation)
    start = work.initial if simple else getattr(work, "start", None)
    plant = work.model if simple else getattr(work, "pair", getattr(work, "tree", None))
    if start is None or plant is None:
        what = f"kind '{scenario.kind}', task '{scenario.task}'"
        raise InputError(
            "NAME", scenario.name, f"a scenario that simulates one model from one start, not one of {what}"
        )
    return plant, start


def _model(plant: RollingPair | RollingTree, start: Start) -> tuple[TreeModel, ca.Function, FloatArray]:
    """Return the model, (x, u) -> (x', contact forces) in the mode of the start, and the start."""
    system = plant.system
    laws = [LAWS[law] for law in start.laws] or list(system.start_laws)
    tree = system.model(start.atlas)
    found = tree.dynamics(laws)
    forces = ca.vertcat(*found.forces) if found.forces else ca.SX(0, 1)
    outputs = [ca.densify(found.xdot), ca.densify(forces)]
    names = (["x", "u"], ["xdot", "force"])
    return tree, ca.Function("model", [found.x, found.u], outputs, *names, {"cse": True}), np.asarray(start.x)


def _policy(work: Experiment) -> Policy | None:
    """Return the controller of an experiment (its plan is computed first), if it has one to export."""
    return work.regulator() if isinstance(work, Regulated) else None


def _generate_c(name: str, functions: dict[str, ca.Function]) -> dict[str, str]:
    """Return CasADi's C source and header of the functions, under the names of their files."""
    stem = f"{name}_functions"
    generator = ca.CodeGenerator(stem, {"with_header": True, "cpp": False, "verbose": False})
    for c_name, function in functions.items():
        generator.add(rename_function(function, c_name))
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
