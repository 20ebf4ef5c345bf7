"""Transcription."""
