"""Scenes whose contacts change, timed: `scenes` and `robots` build them, `peers` states them in other simulators."""
