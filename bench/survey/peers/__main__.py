"""``python -m bench.survey.peers --scenes N --seed S``: trundle, MuJoCo, Drake and PyBullet before one judge.

``--known``: scenes with known answers in place of random ones, which try the way from a simulator to the judge.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor

from bench.machine import description
from bench.survey.peers.engines import SETTINGS
from bench.survey.peers.known import known_table
from bench.survey.peers.measured import rows_of
from bench.survey.peers.scenes import shared_scenes
from bench.survey.peers.table import amounts_table, endings, shares_table
from trundle.interop.peers import peer


def main() -> None:
    """Draw, run, judge and tell."""
    given = arguments()
    settings = [setting for setting in SETTINGS if setting.module in given.engines]
    for name in given.engines:
        peer(name)  # loaded once, before the children are forked
    if given.known:
        print(known_table(settings))
        return
    scenes = list(shared_scenes(given.seed, given.scenes, given.bodies))
    if given.only is not None:
        scenes = [scene for scene in scenes if scene[0] in given.only]
    rows = []
    with ThreadPoolExecutor(given.jobs) as pool:
        for found in pool.map(lambda scene: rows_of(scene[0], scene[1], settings, given.limit), scenes):
            rows += found
            print(f"scene {found[0].scene}: trundle {found[-1].ended}", flush=True)
    machine = description()
    print(f"\n{len(scenes)} scenes of seed {given.seed}, {machine['processor']}, {machine['versions']}\n")
    print(amounts_table(rows), shares_table(rows), endings(rows), sep="\n\n")


def arguments() -> argparse.Namespace:
    """Return what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench.survey.peers", description=__doc__)
    parser.add_argument("--scenes", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bodies", type=int, default=4, help="most bodies of a scene")
    parser.add_argument("--engines", nargs="*", default=["mujoco", "drake", "pybullet"], help="beside trundle")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=120.0, help="s of processor time that trundle may take")
    parser.add_argument("--only", type=int, nargs="*", help="numbers of scenes, among the drawn ones")
    parser.add_argument("--known", action="store_true", help="scenes with known answers")
    return parser.parse_args()


if __name__ == "__main__":
    main()
