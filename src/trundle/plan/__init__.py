"""Planning: transcription of problems, refinement, replay."""
