"""Named scenarios run small, once a session: what `make test` says of them; whole ones are run by `make test-all`."""

from __future__ import annotations

import fcntl
import pickle
from collections.abc import Mapping
from pathlib import Path

import pytest

from trundle.records import Trajectory
from trundle.scenarios import load_scenario, run
from trundle.scenarios.engine import pictures
from trundle.scenarios.engine.run import Result

_FAST_HUMANOID = ("controller.period=0.004", "simulation.settle=0.5")

SMALLER: Mapping[str, tuple[str, ...]] = {
    "ball-transfer": ("plan.nodes=60", "plan.starts=1", "plan.parts=30", "simulation.output_step=0.01"),
    "butterfly": ("trials.count=2",),
    "ellipse-damping": ("simulation.duration=4.0",),
    "ellipse-flip-up": ("trials.count=2", "controller.hold=3.0"),
    "ellipse-throw-catch": ("catch_errors.count=2",),
    "humanoid-carry": (
        *_FAST_HUMANOID,
        *("trials.count=2", "hold=0.5", "hands.wait=0.2", "hands.retreat=0.8", "hands.open=0.6"),
        *("hands.reach=1.0", "hands.lift=1.1", "hands.lower=1.1"),
        *("route.turn_steps=0", "route.ways=[]", "route.turn=0.0"),
    ),
    "humanoid-ledge": (*_FAST_HUMANOID, "trials.count=2", "steps.count=1"),
    "humanoid-stand": (
        *_FAST_HUMANOID,
        *("mass_factors=[1.05]", "pushes.fore_aft=[8.0]", "pushes.lateral=[15.0]"),
        *("parts.talos.pushes.fore_aft=[25.0]", "parts.talos.pushes.lateral=[25.0]"),
    ),
    "humanoid-walk": (
        *(*_FAST_HUMANOID, "trials.count=2", "steps.count=2"),
        *(f"parts.{part}.trials.count=1" for part in ("piecewise", "constant", "short-window", "long-samples")),
        "parts.even-samples.trials.count=1",
    ),
    "passive-walker": ("trials.count=2",),
    "plate-reorient": ("plan.starts=2",),
    "plate-reorient-noisy": ("trials.count=2",),
    "rock-hill": ("simulation.duration=4.0",),
    "rover-sinusoid": ("simulation.duration=5.0",),
    "rover-sinusoid-4legs": ("simulation.duration=2.5",),
    "walk-flat": ("plan.intervals=[8, 3]", "plan.steps=2", "replay.steps=0"),
    "walk-flat-foot": ("plan.intervals=[8, 3]", "plan.steps=2"),
    "wallbounce-avoid": (
        *("trials.count=2", "simulation.duration=3.0"),
        *("parts.any-start.simulation.duration=5.0", "parts.any-start.trials.count=1"),
    ),
    "wallbounce-models": ("trials.count=2", "simulation.duration=1.8"),
    "wallbounce-recover": (
        *("trials.count=2", "trials.record=1", "simulation.duration=2.5"),
        *(f"parts.{part}.trials.count=1" for part in ("drive-only", "implicit-only", "paper-presets", "simplified")),
    ),
    "wallbounce-stay": (
        *("trials.count=2", "trials.start=[0.5, 0.5]", "simulation.duration=4.0"),
        *(f"parts.{part}.trials.count=1" for part in ("left", "right", "behind", "away")),
    ),
    "wallbounce-turn": ("trials.count=2", "simulation.duration=2.5"),
}
"""What makes a named scenario small: two trials, and where one trial takes long a shorter motion."""

WHOLE_ONLY: Mapping[str, frozenset[str]] = {
    "ball-transfer": frozenset({"elastica_residual", "goal_error"}),  # of the fine grid
    "humanoid-carry": frozenset({"seeds_ok"}),  # counts boxes carried over step and slope
    "humanoid-ledge": frozenset({"seeds_ok", "static_without_hand"}),  # count two holds of the hand
    "walk-flat": frozenset({"replay_steps"}),  # of twelve
    "wallbounce-recover": frozenset({"gentle_force_mismatch"}),  # a median over twenty pushes
    "wallbounce-stay": frozenset(  # over the last 4 s of 14 s
        {"stays", "stays_left", "stays_right", "stays_behind", "stays_away"}
    ),
}
"""Limits that speak of the whole task: of the small one they do not hold."""

SIBLINGS = {
    *(
        "butterfly",
        "humanoid-carry",
        "humanoid-ledge",
        "plate-reorient",
        "plate-reorient-noisy",
        "rover-sinusoid-4legs",
    ),
    *(
        "walk-up",
        "walk-down",
        "walk-flat-foot",
        "wallbounce-models",
        "wallbounce-recover",
        "wallbounce-stay",
        "wallbounce-turn",
    ),
}
"""Those whose task another scenario of their system has, and the longest: left to `make test-all`."""

VIEWED = {"plate-spinning", "rover-sinusoid", "passive-walker", "walk-flat", "humanoid-stand", "wallbounce-avoid"}
"""Those whose viewer page is made, one or two of a kind; `make test-all` makes all."""


class NamedRuns:
    """Runs of the named scenarios of `SMALLER`, each made once by whichever test process asks first.

    Parameters
    ----------
    base : Path
        A folder that all test processes of the session share.
    """

    def __init__(self, base: Path) -> None:
        self.base = base
        self._known: dict[str, Result] = {}

    def __call__(self, name: str) -> Result:
        """Return what `run` left, without pictures."""
        if name not in self._known:
            kept, folder = self.base / f"{name}.pickle", self.base / name
            self.base.mkdir(exist_ok=True)
            with (self.base / f"{name}.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not kept.exists():
                    with pytest.MonkeyPatch.context() as patch:
                        if name not in VIEWED:
                            patch.setattr(pictures, "write_viewer", lambda _stage, page, _notice: page)
                        done = run(load_scenario(name, list(SMALLER.get(name, ()))), folder, plots=False, jobs=1)
                    kept.write_bytes(pickle.dumps(done))
                self._known[name] = pickle.loads(kept.read_bytes())
        return self._known[name]

    def parts(self, name: str) -> dict[str, Trajectory]:
        """Return the main run, under the name "", and its parts."""
        done = self(name)
        assert done.trajectory is not None
        return {"": done.trajectory, **done.parts}
