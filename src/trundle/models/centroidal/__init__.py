"""Centroidal."""
