"""Sensing."""
