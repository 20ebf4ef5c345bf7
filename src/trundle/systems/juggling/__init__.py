"""Juggling."""
