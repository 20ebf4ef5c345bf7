"""The judge: all checks of a run."""

from __future__ import annotations

import numpy as np

from trundle.audit.anatomy import anatomy_of
from trundle.audit.between import balance_checks
from trundle.audit.events import event_checks
from trundle.audit.evidence import Evidence
from trundle.audit.forces import force_checks
from trundle.audit.gaps import extent_checks, gap_checks
from trundle.audit.joints import joint_checks
from trundle.audit.poses import pose_checks
from trundle.audit.report import Report
from trundle.audit.scales import scales_of
from trundle.models.tree.system import ContactSystem


def audit_run(system: ContactSystem, evidence: Evidence) -> Report:
    """Return the report on a run."""
    anatomy = anatomy_of(system)
    with np.errstate(invalid="ignore", over="ignore"):  # what is no number fails its check
        scales = scales_of(anatomy, evidence)
        checks = [
            *joint_checks(anatomy, evidence, scales),
            *balance_checks(anatomy, evidence, scales),
            *(pose_checks(anatomy, evidence, scales) if len(evidence.jumps) else ()),
            *force_checks(anatomy, evidence, scales),
            *event_checks(system, anatomy, evidence, scales),
            *gap_checks(system, anatomy, evidence),
            *extent_checks(anatomy, evidence),
        ]
    return Report(tuple(checks))
