"""The rows of the table, with their limits."""

from __future__ import annotations

from functools import partial

from bench.contacts import balls, robots, truth
from bench.contacts.scene import Scene

SCENES: dict[str, Scene] = {
    "plate": Scene("ball on a spinning plate, 120 s", balls.plate, must=0.023, exact=truth.plate, closed=False),
    "rack15": Scene("cue ball into 15 balls, 0.5 s", partial(balls.rack, 15), must=0.9, aim=0.35, first_must=2.0),
    "rack6": Scene("cue ball into 6 balls, 0.5 s", partial(balls.rack, 6), must=0.2, aim=0.08),
    "row": Scene("five balls in a row", balls.row, must=0.030, aim=0.008, exact=truth.row, unique=False),
    "dominoes": Scene(
        "twelve dominoes", robots.dominoes, must=0.17, aim=0.040, exact=truth.dominoes, boxes=robots.domino_boxes
    ),
    "landing": Scene("solo12 lands, 0.5 s", robots.landing, must=0.12, aim=0.040),
    "trot": Scene("solo12 trots, replay of six steps", robots.trot, must=1.4, aim=0.6),
    "soles": Scene("talos on flat soles, replay of six steps", robots.soles),
    "box": Scene(
        "100 balls fall into a box, 2 s", balls.box, aim=10.0, stated=balls.box_scene, mjcf=balls.box_mjcf, unique=False
    ),
    "fingers": Scene(
        "three fingertips hold a ball, 5 s at 1 kHz", balls.fingers, aim=5.0, exact=truth.fingers, closed=False
    ),
    "rocker": Scene("four wheels with a rocker on uneven ground, 3 s", robots.rocker, aim=5.0, closed=False),
    "rollers": Scene("car on 32 free rollers turns, 0.6 s", robots.rollers, aim=3.0, closed=False),
    "sprung": Scene("two wheels on sprung legs turn, 1 s", robots.sprung, aim=0.5, closed=False),
    "oloid": Scene("oloid spun at 15 rad/s, 3 s", robots.oloid, aim=3.0, unique=False),
}
