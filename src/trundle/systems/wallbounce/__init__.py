"""Wallbounce."""
