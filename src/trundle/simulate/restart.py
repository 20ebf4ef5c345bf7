"""Where a run was at a time: a start from which another one goes on, or about which a model is linearised."""

from __future__ import annotations

import numpy as np

from trundle.checks import number
from trundle.errors import InputError
from trundle.models.tree.system import Start
from trundle.records import Trajectory


def start_at(run: Trajectory, time: float) -> Start:
    """Return the state and mode of a simulated run at its last sample up to `time` (s).

    Where the mode changes at a sample it is the one after. Clocks of policies and of a hand's motion begin anew in a
    simulation from there.

    Raises
    ------
    InputError
        If the time is not within the run, or the run was read from a file, which has no states of the model.

    Examples
    --------
    >>> pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.1), mass=1.0), tr.Hand(tr.Plane(), rpy=(0, 0.5, 0)))
    >>> whole = tr.simulate(pair, pair.place(), duration=1.0)
    >>> rest = tr.simulate(pair, tr.start_at(whole, 0.5), duration=0.5)
    >>> bool(abs(rest["object_position"][-1] - whole["object_position"][-1]).max() < 1e-9)
    True
    """
    if not run.samples:
        raise InputError("run", run, "a run of `simulate` in this process: files do not hold states")
    first, last = float(run.samples[0].times[0]), float(run.samples[-1].times[-1])
    at = number("time", time, minimum=first, maximum=last)
    mode = next(one for one in reversed(run.samples) if one.times[0] <= at)
    k = int(np.searchsorted(mode.times, at, side="right")) - 1
    return Start(np.array(mode.states[k]), mode.atlas, mode.laws, mode.of)
