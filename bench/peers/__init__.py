"""Other simulators on the same cases: one module an engine, each with `version` and `runs`."""

from __future__ import annotations

PEERS = ("mujoco", "pybullet", "drake")
