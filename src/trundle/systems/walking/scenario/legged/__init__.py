"""Optimal steps of robots from a URDF: tables, experiment, metrics."""
