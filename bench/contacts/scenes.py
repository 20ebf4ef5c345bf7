"""The rows of the table, with their limits."""

from __future__ import annotations

from functools import partial

from bench.contacts import balls, robots
from bench.contacts.scene import Scene

SCENES: dict[str, Scene] = {
    "plate": Scene("ball on a spinning plate, 120 s", balls.plate, must=0.023),
    "rack15": Scene("cue ball into 15 balls, 0.5 s", partial(balls.rack, 15), must=0.9, aim=0.35, first_must=2.0),
    "rack6": Scene("cue ball into 6 balls, 0.5 s", partial(balls.rack, 6), must=0.2, aim=0.08),
    "row": Scene("five balls in a row", balls.row, must=0.030, aim=0.008),
    "dominoes": Scene("twelve dominoes", robots.dominoes, must=0.17, aim=0.040),
    "landing": Scene("solo12 lands, 0.5 s", robots.landing, must=0.12, aim=0.040),
    "trot": Scene("solo12 trots, replay of six steps", robots.trot, must=1.4, aim=0.6, peers=False),
    "soles": Scene("talos on flat soles, replay of six steps", robots.soles, peers=False),
    "box": Scene("100 balls fall into a box, 2 s", balls.box, aim=10.0, mjcf=balls.box_mjcf),
    "fingers": Scene("three fingertips hold a ball, 5 s at 1 kHz", balls.fingers, aim=5.0, peers=False),
    "rocker": Scene("four wheels with a rocker on uneven ground, 3 s", robots.rocker, aim=5.0, peers=False),
    "rollers": Scene("car on 32 free rollers turns, 0.6 s", robots.rollers, aim=3.0, peers=False),
    "sprung": Scene("two wheels on sprung legs turn, 1 s", robots.sprung, aim=0.5, peers=False),
    "oloid": Scene("oloid spun at 15 rad/s, 3 s", robots.oloid, aim=3.0),
}
