"""A survey of laws: random scenes, each judged by physics alone and by one invariance."""
