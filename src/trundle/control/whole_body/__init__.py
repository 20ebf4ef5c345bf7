"""Whole body."""
