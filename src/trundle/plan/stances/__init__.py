"""Stances."""
