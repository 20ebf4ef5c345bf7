"""The engine: from a checked scenario to a folder of results, independently of the scenario's kind.

`building` asks a system for the experiment of a scenario; `run` runs its parts, judges the metrics by `acceptance`, and
writes the `folder`; `pictures` draws it. `sweep` (with `sweep_points`), `reproduce` and `export` are the other
verbs.
"""
