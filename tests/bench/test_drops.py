"""Drops that once went wrong."""

from __future__ import annotations

from bench.drops import drop_body


def test_a_corner_that_opens_by_nothing_while_another_one_comes_back_is_seen_to_sink() -> None:
    """A polytope rattles in a dish: no instant after the blow shows the whole shapes open, and it comes out again."""
    drop = drop_body(16, 0)
    assert drop.status == "success"
