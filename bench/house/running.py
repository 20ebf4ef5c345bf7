"""What runs behind one call: the modules that a simulation of a pair loads, and how deep its calls go."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

_PROGRAM = """
import json, sys
import trundle as tr

ball = tr.RigidBody(tr.Sphere(radius=0.2), mass=0.1, inertia="solid")
plate = tr.Hand(tr.Plane(), twist=[0, 0, 7, 0, 0, 0])  # rad/s, m/s, hand frame
pair = tr.RollingPair(ball, plate, law="rolling", friction=0.8)
start = pair.place(contact_on_hand=(0.5, 0, 0))
tr.simulate(pair, start, duration=0.1)
loaded = [name for name in sys.modules if name.split(".")[0] == "trundle"]
depth, deepest = 0, 0


def watch(frame, event, _argument):
    global depth, deepest
    if frame.f_globals.get("__name__", "").startswith("trundle."):
        depth += {"call": 1, "return": -1}.get(event, 0)
        deepest = max(deepest, depth)


sys.setprofile(watch)
tr.simulate(pair, start, duration=0.1)
sys.setprofile(None)
print(json.dumps({"modules_behind_simulate": len(loaded), "frames_behind_simulate": deepest}))
"""


def behind_simulate(package: Path) -> dict[str, int]:
    """Return the two figures, of a fresh interpreter; none where the sources cannot be run."""
    path = os.pathsep.join([str(package.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    return json.loads(done.stdout) if done.returncode == 0 else {}
