"""Planar."""
