"""One engine, one case, in a process of its own: prints one JSON line a point.

``python -m bench.worker ENGINE CASE SECONDS [quick]``; a crash or a missing package costs this engine only.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module

from bench.measure import Point, measure
from bench.reference import BallCase, EllipseCase, ellipse_reference

MODULES = {
    "trundle": "bench.trundle_cases",
    "mujoco": "bench.peers.mujoco",
    "pybullet": "bench.peers.pybullet",
    "drake": "bench.peers.drake",
}
CASES = {"ball": BallCase, "ellipse": EllipseCase}


def main(engine: str, name: str, seconds: float, quick: bool) -> None:
    """Run every point of one engine on one case; after `seconds` the rest is reported as skipped."""
    module = import_module(MODULES[engine])
    print(json.dumps({"version": module.version()}), flush=True)
    case = CASES[name]()
    if name == "ellipse":
        ellipse_reference(case)
    begin = time.perf_counter()
    for run in module.runs(case):
        if quick and not run.quick:
            continue
        if time.perf_counter() - begin > seconds:
            unit = "%" if name == "ball" else "m"
            note = f"skipped: {seconds:g} s of this engine are over"
            point = Point(run.engine, name, run.setting, run.step, None, unit, None, None, None, note)
        else:
            point = measure(run, case)
        print(json.dumps(point.as_dict()), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), "quick" in sys.argv[4:])
