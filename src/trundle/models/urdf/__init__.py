"""Urdf."""
