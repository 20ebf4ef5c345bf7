"""Measured walks: `motion_files` and `gait_data` read them, `foot_fit` fits an equivalent foot.

`estimate` finds forces and torques of a `measured_cycle`; the modules that end in ``_estimate`` are its file format,
metrics and figures.
"""
