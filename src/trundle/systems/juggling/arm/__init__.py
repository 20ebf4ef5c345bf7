"""Transfers whose hand an arm carries: the problem in the arm's joints, and what the joints do along a run.

`arm` carries a hand on a fixed base (symbolic), `arm_numbers` has its Pinocchio model; `coordinates` writes a phase in
joint positions and rates, with the arm's limits; `demands` follows a run with the arm.
"""
