"""The verb `plan`: solve on a coarse mesh, replay accurately, compare the goal pose, refine until it holds."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from trundle.bars import reporting
from trundle.checks import FloatArray, array, choice, integer, non_negative
from trundle.errors import InputError
from trundle.numerics.nlp.nlp import Iterate, ProgramSolution, solve
from trundle.optimal.transcription.transcription import MOST_NODES, NodeTrajectory, Transcription
from trundle.records.plan import Plan, load_plan
from trundle.status import Status
from trundle.systems.juggling.arm.demands import joint_demands
from trundle.systems.juggling.transfer.check_limits import Judgement, best_of, judge, start_fault
from trundle.systems.juggling.transfer.formulation import Formulation
from trundle.systems.juggling.transfer.guess import KINDS, built_in, from_plan, perturb_guess
from trundle.systems.juggling.transfer.replay import Replayer
from trundle.systems.juggling.transfer.settings import Progress, Settings
from trundle.systems.juggling.transfer.transfer import Transfer

ORDER = {"trapezoid": 2, "hermite-simpson": 4, "shooting": 4}
SIGMA = 0.01
"""Errors put on built-in guesses: an exactly symmetric one keeps the solver on its symmetric, often useless, line."""
PATIENCE = 60
"""Iterations that may pass without coming nearer to what the constraints allow; whole plans take 10 to 60."""
STALLED = 1e-5
"""Violation (as in `Iterate`) below which a solver is left alone."""
_FAR = 5.0
"""Times SIGMA on belts: about a straight roll a hand that only tilts has no yaw to first order, and solvers crawl."""
FirstGuess = str | Plan | NodeTrajectory | Path | None
_REFUSALS = 2  # replays in a row that a finer mesh did not better
_FEWEST = 8  # intervals of a mesh that is halved, at least
_SHARE = 0.3  # of the largest use that an interval may have
_SPLIT = 4  # parts into which a refinement divides an interval at most


def plan(
    task: Transfer,
    *,
    guess: FirstGuess = None,
    nodes: int = 25,
    method: str = "hermite-simpson",
    position_tolerance: float = 1e-4,
    rotation_tolerance: float = 1e-3,
    velocity_tolerance: float = 1e-3,
    angular_velocity_tolerance: float = 1e-2,
    max_refinements: int = 5,
    max_iterations: int = 300,
    tolerance: float = 1e-8,
    starts: int = 3,
    sigma: float = SIGMA,
    seed: int = 0,
    save: str | Path | None = None,
    progress: Callable[[Progress], bool | None] | None = None,
    verbose: bool = False,
    time_limit: float | None = None,
    compile: bool = False,
    options: Mapping[str, str | float] | None = None,
) -> Plan:
    """Plan a transfer: coarse mesh, accurate replay, comparison of the goal pose, finer mesh, until it is met.

    Parameters
    ----------
    task : Transfer
    guess : "stationary", "straight", "smooth", Plan, NodeTrajectory or file of `Plan.save`, optional
        Default: smooth; with an arm the plan without it. A plan is gone on from where it ended, on its own mesh.
    nodes, method : int; "hermite-simpson", "trapezoid" or "shooting"
        Intervals of the first mesh, and how they are made equations.
    position_tolerance, rotation_tolerance, velocity_tolerance, angular_velocity_tolerance : m, rad, m/s, rad/s
        What the replay may miss the goal by, pose and rest (or the velocities asked for), object and hand alike.
    max_refinements, max_iterations, tolerance : finer meshes after the first; the solver's limits on each
    starts, sigma, seed : guesses tried until one keeps all limits, and their errors (`guess.perturb_guess`)
    save, progress, verbose : path, callable, optional; bool
        The last attempt is written to `save` after every mesh, and on Ctrl-C; `progress` is called with a `Progress`
        after every iteration and replay: returning False stops, as Ctrl-C does. `verbose` shows a bar.
    time_limit, compile, options : s, bool, mapping
        Wall time for all of it; compile large functions first, for later plans of the kind; IPOPT's options.

    The status of what is returned says what was reached; the best attempt is in it whatever happened.
    An argument out of range, or a goal on no chart of the start, raises `InputError`.

    Examples
    --------
    >>> pair = tr.RollingPair(tr.RigidBody(tr.Circle(0.05), mass=0.1), tr.Hand(tr.Line(), extent=0.4))
    >>> task = tr.juggling.Transfer(pair, {}, {"contact_on_hand": (0.1, 0.0)}, duration=1.0)
    >>> tr.juggling.plan(task, nodes=10).status.label
    'success'
    """
    with reporting(verbose, progress, lambda where: (str(where), where.share)) as told:
        settings = Settings(
            method, position_tolerance, rotation_tolerance, velocity_tolerance, angular_velocity_tolerance,
            max_refinements, max_iterations, tolerance, starts, seed,
            None if save is None else Path(save), told, time_limit, compile, dict(options or {}),
        )  # fmt: skip
        nodes = integer("nodes", nodes, minimum=2, maximum=MOST_NODES)
        return _plan_transfer(Formulation(task), guess, nodes, sigma, settings)


def _plan_transfer(formulation: Formulation, guess: FirstGuess, nodes: int, sigma: float, settings: Settings) -> Plan:
    """Plan, with an arm first without it: there the plan with it begins, and that one says what the arm cannot do."""
    if formulation.arm is None or guess is not None or start_fault(formulation):
        return Planner(formulation, settings).run(_guesses(formulation, guess, nodes, sigma, settings))
    begin = clock.perf_counter()
    hand = Formulation(replace(formulation.task, arm=None))
    free = Planner(hand, replace(settings, save=None)).run(_guesses(hand, None, nodes, sigma, settings))
    if not free.success:
        return replace(free, message=f"without the arm, too: {free.message}" if free.message else "")
    left = settings.time_limit and max(settings.time_limit - (clock.perf_counter() - begin), 1e-3)
    planner = Planner(formulation, replace(settings, time_limit=left))
    found = planner.run(_guesses(formulation, free, nodes, sigma, settings))
    found = replace(found, history=[*free.history, *found.history])
    if found.status in (Status.SUCCESS, Status.INTERRUPTED) or free.trajectory is None:
        return found
    demands = joint_demands(formulation.arm.arm, free.trajectory, formulation.arm.start[: formulation.arm.n])
    return replace(found, message=f"{found.message}; moved as without the arm, {demands.beyond()}")


def _guesses(
    formulation: Formulation,
    guess: FirstGuess,
    nodes: int,
    sigma: float,
    settings: Settings,
) -> list[Callable[[], NodeTrajectory]]:
    """Return what makes each guess, in the order they are tried."""
    non_negative("sigma", sigma)
    if isinstance(guess, str) and guess not in KINDS and Path(guess).suffix == ".npz":
        guess = Path(guess)
    if isinstance(guess, Path):
        guess = load_plan(guess)
    if isinstance(guess, Plan):
        arc = from_plan(formulation, guess)
    elif isinstance(guess, NodeTrajectory):
        size = (len(guess.times), None)
        for name in ("times", "x", "u"):
            array(f"guess.{name}", getattr(guess, name), size[: np.ndim(getattr(guess, name))])
        arc = guess
    else:
        kind = "smooth" if guess is None else choice("guess", guess, KINDS)
        arc = built_in(formulation, kind, nodes)
        sigma *= _FAR if formulation.on_belt else 1.0
        return [lambda i=i: perturb_guess(arc, formulation, sigma, settings.seed + i) for i in range(settings.starts)]
    more = range(1, settings.starts)
    return [lambda: arc, *(lambda i=i: perturb_guess(arc, formulation, sigma, settings.seed + i) for i in more)]


class Stall:
    """Whether a solver has stopped coming nearer to what its constraints allow (final).

    It has where the least violation so far, above `STALLED`, is not below 0.9 of what it was `PATIENCE` iterations ago.
    """

    def __init__(self) -> None:
        self._least: list[float] = []
        self.found = False

    def at(self, it: Iterate) -> bool:
        """Take in an iterate and return whether it is time to stop."""
        self._least.append(min([it.violation, *self._least[-1:]]))
        before = self._least[-PATIENCE] if len(self._least) >= PATIENCE else np.inf
        self.found = bool(self._least[-1] > max(STALLED, 0.9 * before))
        return self.found


class Planner:
    """One run of refinement (final).

    Parameters
    ----------
    formulation : Formulation
    settings : Settings
    """

    def __init__(self, formulation: Formulation, settings: Settings) -> None:
        self.formulation, self.settings = formulation, settings
        self.replayer = Replayer(formulation)
        self.problem = formulation.problem
        self.history: list[dict[str, str | float]] = []
        self._last = (float("nan"), float("nan"))
        self._stop = False
        self._until = float("inf") if settings.time_limit is None else clock.perf_counter() + settings.time_limit

    @property
    def _late(self) -> bool:
        return clock.perf_counter() >= self._until

    def run(self, guesses: list[Callable[[], NodeTrajectory]]) -> Plan:
        """Return the plan from the first guess that leads to a motion, or the best attempt."""
        fault = start_fault(self.formulation)
        if fault:
            arc = guesses[0]()
            return self._finish_plan(Judgement.without_solution(self.formulation, arc, Status.START_INFEASIBLE, fault))
        best: Judgement | None = None
        refused = 0
        for make in guesses:
            arc = make()
            if refused and not self.formulation.on_belt:
                arc = arc.at(np.linspace(0.0, arc.times[-1], max(len(arc.times) // 2, _FEWEST) + 1))
            found = self._refine_mesh(arc)
            best = best_of(best, found)
            # A point where no step lessens what is violated is a clear no: one more, coarse and cheap, and that is it.
            refused += found.status is Status.LOCALLY_INFEASIBLE
            if self._stop or self._late or best.feasible or refused == _REFUSALS:
                break
        if best is None:
            raise InputError("starts", len(guesses), "at least one guess")
        return self._finish_plan(best)

    def _refine_mesh(self, arc: NodeTrajectory) -> Judgement:
        """Solve on finer and finer meshes until the replay meets the goal."""
        mesh = arc.times / arc.times[-1]
        best: Judgement | None = None
        for refinement in range(self.settings.max_refinements + 1):
            found = self._solve_mesh(arc, mesh, refinement)
            best = best_of(best, found)
            if self.settings.save is not None:
                self._finish_plan(best).save(self.settings.save)
            if self._stop or self._late or found.status is Status.SUCCESS or not found.feasible:
                break
            arc, mesh = found.arc, self._finer(found)
            if len(mesh) == len(arc.times):
                break
        if best is None:
            raise InputError("max_refinements", self.settings.max_refinements, ">= 0")
        return best

    def _solve_mesh(self, arc: NodeTrajectory, mesh: FloatArray, refinement: int) -> Judgement:
        begin = clock.perf_counter()
        made = Transcription(self.problem, [mesh], self.settings.method)
        if self.settings.compile:
            for group in made.program.groups:
                group.kernel.build()
        stall = Stall()
        solution = solve(
            made.program,
            made.pack([arc]),
            tolerance=self.settings.tolerance,
            max_iterations=self.settings.max_iterations,
            progress=lambda it: self._report(it, refinement, len(mesh)) is not False and not stall.at(it),
            options=self._options(),
        )
        if stall.found and solution.status is Status.INTERRUPTED and not self._stop:
            solution = replace(solution, status=Status.LOCALLY_INFEASIBLE, solver_status="stalled")
        self._stop = self._stop or solution.status is Status.INTERRUPTED
        solved = clock.perf_counter()
        found = judge(self.formulation, self.replayer, made.unpack(solution.z)[0], solution, self.settings)
        done = clock.perf_counter()
        self._remember(found, solution, len(mesh) - 1, (solved - begin - solution.times["solve"], done - solved))
        r = found.residuals
        self._last = (r["goal_position_error"], r["goal_rotation_error"])
        if self.settings.progress is not None and not self._stop:
            report = Progress(
                "replay", refinement, len(mesh), solution.iterations, solution.objective,
                solution.constraint_violation, *self._last,
            )  # fmt: skip
            self._stop = self.settings.progress(report) is False
        return found

    def _options(self) -> dict[str, str | float]:
        """Return IPOPT's options, with the time that is left."""
        if not np.isfinite(self._until):
            return dict(self.settings.options)
        return {"max_wall_time": max(self._until - clock.perf_counter(), 1e-3), **self.settings.options}

    def _report(self, it: Iterate, refinement: int, nodes: int) -> bool | None:
        if self.settings.progress is None:
            return None
        here = Progress("solve", refinement, nodes, it.number, it.objective, it.violation, *self._last)
        self._stop = self._stop or self.settings.progress(here) is False
        return not self._stop

    def _remember(
        self, found: Judgement, solution: ProgramSolution, nodes: int, build_and_replay: tuple[float, float]
    ) -> None:
        entry: dict[str, str | float] = {
            "nodes": nodes,
            "status": found.status.label,
            "solver_status": solution.solver_status,
            "iterations": solution.iterations,
            "cost": solution.objective,
            "build": build_and_replay[0],
            "solve": solution.times["solve"],
            "evaluation": solution.times["evaluation"],
            "replay": build_and_replay[1],
        }
        self.history.append(entry | {k: v for k, v in found.residuals.items() if k != "cost"})

    def _finer(self, found: Judgement) -> FloatArray:
        """Split intervals so that each adds an equal share of the error that may be left.

        The replay says how much smaller the error has to become, the error each interval adds says where.
        """
        mesh = found.arc.times / found.arc.times[-1]
        settings, r = self.settings, found.residuals
        local = self.replayer.local_errors(found.arc, _lengths(found.arc))
        use = [r[name] / limit for name, limit in settings.tolerances.items()]
        if not np.all(np.isfinite([*local, *use])) or np.max(use) <= 1.0 or not np.sum(local) > 0:
            pieces = np.full(len(mesh) - 1, 2)
        else:
            allowed = _SHARE / np.max(use) * np.mean(local)
            wanted = (local / allowed) ** (1.0 / ORDER[settings.method])
            pieces = np.clip(np.ceil(wanted), 1, _SPLIT).astype(int)
        parts = [a + (b - a) * np.arange(n) / n for a, b, n in zip(mesh[:-1], mesh[1:], pieces, strict=True)]
        return np.concatenate([*parts, [1.0]])

    def _finish_plan(self, found: Judgement) -> Plan:
        status = found.status
        if status is not Status.SUCCESS and (self._stop or self._late):
            status = Status.INTERRUPTED if self._stop else Status.TIME_LIMIT
        states, inputs = self.formulation.reduction.full(found.arc.x, found.arc.u)
        return Plan(
            status=status,
            times=found.arc.times,
            states=states,
            inputs=inputs,
            atlas=self.formulation.atlas,
            residuals=found.residuals,
            history=self.history,
            trajectory=found.trajectory,
            reference=found.reference,
            message=found.message,
        )


def _lengths(arc: NodeTrajectory) -> FloatArray:
    """Return the scale of each state along a motion: its range, never below a thousandth of the largest."""
    span = np.ptp(arc.x, axis=0)
    return np.maximum(span, 1e-3 * max(float(np.max(span)), 1e-9))
