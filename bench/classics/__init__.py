"""``python -m bench.classics``: classics of contact, each against its answer, in trundle and in other engines.

`classic` says what a classic is, `scene` describes bodies for any engine, `engines` run a scene, `oracles` integrate
equations that share nothing with trundle, `page` writes `docs/classics.md`; the other modules hold a few classics each.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.classics.classic import Classic

HOMES = {
    "bicycle": "bicycle",
    "coin": "coin",
    "turntable": "turntable",
    "funnel": "funnel",
    "rattleback": "spinning",
    "tippe-top": "spinning",
    "egg": "spinning",
    "sleigh": "wheels",
    "euler-disk": "disk",
    "roller-coaster": "coaster",
    "snakeboard": "wheels",
    "painleve-rod": "impacts",
    "bouncing-ball": "impacts",
    "rocking-block": "blocks",
    "dominoes": "blocks",
    "cradle": "impacts",
}
"""Names of the classics and the modules they are in."""


def named(name: str) -> Classic:
    """Return a classic by its name."""
    module = import_module(f"bench.classics.{HOMES[name]}")
    found = getattr(module, "CLASSICS", None) or (module.CLASSIC,)
    return next(c for c in found if c.name == name)
