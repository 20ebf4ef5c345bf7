"""Replay of planned walks: gains along a plan, the replay under feedback, and robots in MuJoCo."""
