"""Multicontact: humanoids that stand, walk and carry under preview and whole-body control (paper 3).

`plan_stances` plans sequences of contacts with poses at rest (package `stances`), a `Preview` plans the centre of mass
over them (`preview`, with the models of `centroidal`), a `HumanoidPolicy` turns both into torques (`whole_body`);
`humanoid` has what surrounds the robot and its twin in MuJoCo. `scenario` has what ``trundle run`` needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trundle.lazy import lazy_names

if TYPE_CHECKING:  # what editors and type checkers see; tests/test_imports.py keeps it equal to the table below
    from trundle.systems.multicontact.centroidal.centroidal import Centroidal as Centroidal
    from trundle.systems.multicontact.centroidal.centroidal import CentroidalState as CentroidalState
    from trundle.systems.multicontact.centroidal.centroidal import Push as Push
    from trundle.systems.multicontact.centroidal.forecast import AxisChange as AxisChange
    from trundle.systems.multicontact.centroidal.forecast import Forecast as Forecast
    from trundle.systems.multicontact.centroidal.forecast import Held as Held
    from trundle.systems.multicontact.centroidal.forecast import MassChange as MassChange
    from trundle.systems.multicontact.centroidal.forecast import Pushed as Pushed
    from trundle.systems.multicontact.humanoid.obstacles import Obstacle as Obstacle
    from trundle.systems.multicontact.preview.paths import PointPath as PointPath
    from trundle.systems.multicontact.preview.plan import PreviewPlan as PreviewPlan
    from trundle.systems.multicontact.preview.preview import Preview as Preview
    from trundle.systems.multicontact.preview.preview import PreviewWeights as PreviewWeights
    from trundle.systems.multicontact.preview.window import ReferencePath as ReferencePath
    from trundle.systems.multicontact.stances.equilibrium import StanceEquilibrium as StanceEquilibrium
    from trundle.systems.multicontact.stances.equilibrium import bearable as bearable
    from trundle.systems.multicontact.stances.equilibrium import standing_still as standing_still
    from trundle.systems.multicontact.stances.pose import PoseSettings as PoseSettings
    from trundle.systems.multicontact.stances.pose import Stance as Stance
    from trundle.systems.multicontact.stances.pose import StanceError as StanceError
    from trundle.systems.multicontact.stances.pose import find_pose as find_pose
    from trundle.systems.multicontact.stances.stances import StancePlan as StancePlan
    from trundle.systems.multicontact.stances.stances import SwingRule as SwingRule
    from trundle.systems.multicontact.stances.stances import TimingRule as TimingRule
    from trundle.systems.multicontact.stances.stances import Wanted as Wanted
    from trundle.systems.multicontact.stances.stances import plan_stances as plan_stances
    from trundle.systems.multicontact.whole_body.collision import CollisionRows as CollisionRows
    from trundle.systems.multicontact.whole_body.frame_target import BalanceTarget as BalanceTarget
    from trundle.systems.multicontact.whole_body.nominal import NominalPath as NominalPath
    from trundle.systems.multicontact.whole_body.nominal import gross_path as gross_path
    from trundle.systems.multicontact.whole_body.nominal import nominal_path as nominal_path
    from trundle.systems.multicontact.whole_body.policy import HumanoidPolicy as HumanoidPolicy
    from trundle.systems.multicontact.whole_body.stepping import Footsteps as Footsteps
    from trundle.systems.multicontact.whole_body.stepping import SwingMotion as SwingMotion
    from trundle.systems.multicontact.whole_body.stepping import straight_walk as straight_walk
    from trundle.systems.multicontact.whole_body.whole_body import WholeBodyController as WholeBodyController
    from trundle.systems.multicontact.whole_body.whole_body import WholeBodyGains as WholeBodyGains
    from trundle.systems.multicontact.whole_body.whole_body import WholeBodyTarget as WholeBodyTarget

_HOMES = {
    "centroidal.centroidal": "Centroidal CentroidalState Push",
    "centroidal.forecast": "AxisChange Forecast Held MassChange Pushed",
    "humanoid.obstacles": "Obstacle",
    "preview.paths": "PointPath",
    "preview.plan": "PreviewPlan",
    "preview.preview": "Preview PreviewWeights",
    "preview.window": "ReferencePath",
    "stances.equilibrium": "StanceEquilibrium bearable standing_still",
    "stances.pose": "PoseSettings Stance StanceError find_pose",
    "stances.stances": "StancePlan SwingRule TimingRule Wanted plan_stances",
    "whole_body.collision": "CollisionRows",
    "whole_body.frame_target": "BalanceTarget",
    "whole_body.nominal": "NominalPath gross_path nominal_path",
    "whole_body.policy": "HumanoidPolicy",
    "whole_body.stepping": "Footsteps SwingMotion straight_walk",
    "whole_body.whole_body": "WholeBodyController WholeBodyGains WholeBodyTarget",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)  # pyright: ignore[reportUnsupportedDunderAll]
