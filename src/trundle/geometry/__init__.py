"""Shapes: charts, support functions, level sets and signed distances of curves, surfaces and bodies."""
