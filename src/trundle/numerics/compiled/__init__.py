"""Compiled."""
