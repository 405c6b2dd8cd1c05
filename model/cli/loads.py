"""What `cutjoint simulate --loads` says: joints and drives ranked by what they carry at most."""

from collections.abc import Collection, Sequence
from math import isfinite

from ..base.units import typeset
from ..run.loads import DriveLoad, JointLoad, pose_at
from ..run.trajectory import Trajectory
from ..show.table import table


def loads_page(
    motion: Trajectory,
    joints: Sequence[JointLoad],
    drives: Sequence[DriveLoad],
    not_unique: Collection[str],
) -> str:
    """Both rankings, and the pose in which the first joint carries most."""
    none = 1e-9 * max((x.moment.value for x in joints), default=0.0)  # below is round-off
    rows = [
        (
            x.joint + ("*" if x.joint in not_unique else ""),
            *(f"{x.force.value:.5g}", f"{x.force.time:.4g}"),
            *((f"{x.moment.value:.5g}", f"{x.moment.time:.4g}") if x.moment.value > none else ("0", "")),
        )
        for x in joints
    ]
    parts = [table(rows, ("joint", "peak force (N)", "at (s)", "peak moment (N·m)", "at (s)"))]
    if any(x.joint in not_unique for x in joints):
        parts.append("* not unique, since constraints are redundant: the least is given")
    if joints:
        pose = pose_at(motion, joints[0].force.time)
        where = ", ".join(f"{name.split('.')[1]} {value:.4g}" for name, value in pose.items())
        parts.append(f"pose at the peak of {joints[0].joint}: {where}")
    if drives:
        efforts = [
            (
                x.drive,
                f"{x.effort.value:.5g} {typeset(x.unit)}",
                f"{x.effort.time:.4g}",
                f"{x.limit:g}" if isfinite(x.limit) else "none",
                f"{100 * x.used:.0f} %" if isfinite(x.limit) else "",
            )
            for x in drives
        ]
        parts += ["", table(efforts, ("drive", "peak effort", "at (s)", "limit", "used"))]
    return "\n".join(parts)
