"""Reading MJCF by MuJoCo's own parser: defaults, includes, angles and inertias from shapes are MuJoCo's.

The compiled model is read, not the file. Before that every file it includes is looked at, and meshes are
taken out where a body's inertia does not follow from them or their files are missing. Coordinates are
MuJoCo's `qpos`: a joint with a `ref` is there at the pose in which the file draws it.
"""

import subprocess
import sys
import warnings
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import CutjointError, DescriptionError
from ..base.subprocesses import run_program
from ..base.untrusted import find_inside
from ..describe.validation import nearest
from ..urdf.placement import HERE, PlacedFrame, along, point_at, quaternion, turned_about_z
from ..urdf.read_meshes import LARGEST_MESH, MEMORY, SECONDS, set_limits
from .mjcf_actuators import with_actuators
from .mjcf_equalities import couplings, loops
from .robot import WORLD, Robot, RobotJoint, RobotLink, RobotVisual, note_left_out
from .xml_nodes import Node, inside, read_xml

FREE, BALL, SLIDE, HINGE = range(4)  # MuJoCo's numbers of joint types
_SHAPES = {2: "sphere", 3: "capsule", 5: "cylinder", 6: "box"}  # and of geom types
_MESHES = (".stl", ".obj", ".msh")  # what MuJoCo reads
_GROWING = ("replicate", "composite", "flexcomp", "flex", "attach", "hfield", "size", "plugin")
_HIDDEN = 3  # geoms of this group and above are not drawn by default: they are there to collide


class CompiledModel(NamedTuple):
    """MuJoCo's compiled model, and names for everything that has none."""

    mujoco: Any
    m: Any
    bodies: list[str]  # the world is WORLD
    joints: list[str]

    def named(self, kind: str, k: int) -> str:
        found = self.mujoco.mj_id2name(self.m, getattr(self.mujoco.mjtObj, f"mjOBJ_{kind.upper()}"), k)
        return found or f"{kind}{k + 1}"


def read_mjcf(path: Path, keyframe: str = "") -> Robot:
    """The robot in a file, in the pose of a keyframe if one is named."""
    try:
        import mujoco
    except ImportError:
        raise DescriptionError(f"{path}: install 'mujoco' (pip install mujoco) to read MJCF files") from None
    grows = _check_files(read_xml(path), [path.parent], set())
    if grows:
        _try_elsewhere(path)
    spec, m, meshes, notes = _compiled(mujoco, path, tried=grows)
    _check_numbers(m, path)
    meshed = {geom.id: mesh for geom, mesh in meshes}
    model = _model(mujoco, m)
    qpos = m.qpos0 if not keyframe else m.key_qpos[_keyframe(model, keyframe, path)]
    links = [_link(model, b, meshed) for b in range(1, m.nbody)]
    joints = [joint for b in range(1, m.nbody) for joint in _joints(model, b, qpos, notes)]
    links += [RobotLink(joint.child) for joint in joints if joint.child not in model.bodies]
    notes += _left_out(model)
    held = {joint.name for joint in joints}
    robot = Robot(
        spec.modelname or path.stem,
        tuple(links),
        (*joints, *loops(model, held, notes)),
        tuple(couplings(model, notes)),
        gravity=(0.0,) * 3
        if m.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
        else tuple(m.opt.gravity),
        notes=tuple(notes),
    )
    return with_actuators(model, robot)


def _compiled(mujoco: Any, path: Path, tried: bool) -> tuple[Any, Any, Any, list[str]]:
    """What MuJoCo makes of a file, the geoms of meshes that are only shown, and notes."""
    before, said = mujoco.get_mju_user_warning(), list[str]()
    notes: list[str] = []
    mujoco.set_mju_user_warning(said.append)  # else MuJoCo writes them to a file where it was started
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            spec = mujoco.MjSpec.from_file(str(path))
            meshes, lacking = _without_meshes(mujoco, spec, path.parent)
            notes += lacking
            if spec.meshes and not tried:
                _try_elsewhere(path)
            m = spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        why = f"; {notes[0]}" if notes else ""  # masses of meshes that are missing
        raise DescriptionError(f"{path}: MuJoCo: {' '.join(str(error).split())}{why}") from None
    finally:
        mujoco.set_mju_user_warning(before)
    notes += [
        f"MuJoCo warns: {' '.join(text.split())}"
        for text in dict.fromkeys([*said, *(str(w.message) for w in warned)])
    ]
    return spec, m, meshes, notes


def _try_elsewhere(path: Path) -> None:
    """Compile a file that may ask for any amount of memory or time where there is little of both."""
    try:
        words = [sys.executable, "-m", __name__, str(path), str(SECONDS)]
        done = run_program(words, timeout=60 + 4 * SECONDS)
    except subprocess.TimeoutExpired:
        done = None
    if done is None or done.returncode:
        raise DescriptionError(f"{path}: MuJoCo takes too much memory or time for it, or fails")


def _check_numbers(m: Any, path: Path) -> None:
    """Refuse what overflowed when MuJoCo normalized it."""
    unit = [(m.body_quat, 4), (m.body_iquat, 4), (m.site_quat, 4), (m.geom_quat, 4), (m.jnt_axis, 3)]
    rest = (
        m.body_pos,
        m.body_ipos,
        m.body_mass,
        m.body_inertia,
        m.jnt_pos,
        m.qpos0,
        m.qpos_spring,
        m.eq_data,
    )
    sizes = [np.linalg.norm(x.reshape(-1, n), axis=1) for x, n in unit]
    sound = all(np.isfinite(x).all() for x in (*rest, m.site_pos, m.key_qpos, m.jnt_range, m.tendon_length0))
    if not sound or not all(np.isclose(size, 1.0).all() for size in sizes):
        raise DescriptionError(f"{path}: it holds numbers too large to compute with")


def _check_files(node: Node, folders: list[Path], seen: set[Path]) -> bool:
    """Refuse what names files outside the folder, and look into those that are included.

    True if there is anything that may grow: MuJoCo makes a million bodies of a line.

    Names start at the folder, or at that of the file that has them. Meshes and textures may be named
    anywhere: textures are never opened, meshes where `_open_to_us` says so.
    """
    grows = False
    for child in node:
        if child.get("file") and child.tag not in ("mesh", "texture"):
            found = inside(child.get("file"), folders, child)
            if child.tag in ("include", "model") and found not in seen and found.is_file():
                seen.add(found)
                grows |= _check_files(read_xml(found), [folders[0], found.parent], seen)
        grows |= child.tag in _GROWING or (child.tag == "mesh" and bool(child.get("builtin")))
        grows |= _check_files(child, folders, seen)
    return grows


def _open_to_us(file: Path, folder: Path) -> bool:
    """Whether a mesh is there, in the folder or beside it: `meshdir="../meshes"` is usual."""
    try:
        found = find_inside(str(file.absolute()), [folder.resolve().parent])
    except CutjointError:
        return False
    return found.suffix.lower() in _MESHES and found.stat().st_size <= LARGEST_MESH


def _without_meshes(mujoco: Any, spec: Any, folder: Path) -> tuple[list[tuple[Any, RobotVisual]], list[str]]:
    """Take out what only looks, and assets that are not there.

    The geom of a mesh that is not needed becomes a ball without mass, of which only the frame is read.
    """
    spec.compiler.discardvisual = spec.compiler.fusestatic = False
    files = {mesh.name or Path(mesh.file).stem: mesh for mesh in spec.meshes}
    shown: list[tuple[Any, RobotVisual]] = []
    lacking: list[str] = []
    for geom in spec.geoms:
        if geom.type != mujoco.mjtGeom.mjGEOM_MESH or geom.meshname not in files:
            continue
        mesh, body = files[geom.meshname], geom.parent
        file = str(Path(spec.meshdir or "") / mesh.file) if mesh.file else ""
        missing = bool(file) and not _open_to_us(folder / file, folder)
        said = (
            body.explicitinertial
            and spec.compiler.inertiafromgeom != mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
        )
        if said or missing:
            if not said and geom.mass != 0 and geom.density != 0:
                lacking.append(f"{body.name or 'the world'} ({mesh.file})")
            geom.type, geom.meshname, geom.size = mujoco.mjtGeom.mjGEOM_SPHERE, "", [1e-3, 0.0, 0.0]
            geom.mass = geom.density = 0.0
            geom.contype = geom.conaffinity = 0
            if file and geom.group < _HIDDEN:
                shown.append((geom, RobotVisual("mesh", tuple(float(x) for x in mesh.scale), file=file)))
    for mesh in [mesh for name, mesh in files.items() if not any(g.meshname == name for g in spec.geoms)]:
        spec.delete(mesh)
    for material in spec.materials:
        material.textures = [""] * len(material.textures)
    for kind in (spec.skins, spec.textures):
        for asset in list(kind):
            spec.delete(asset)
    return shown, note_left_out("the masses of shapes whose files are missing:", dict.fromkeys(lacking))


def _model(mujoco: Any, m: Any) -> CompiledModel:
    model = CompiledModel(mujoco, m, [WORLD], [])
    for b in range(1, m.nbody):
        model.bodies.append(model.named("body", b))
    for j in range(m.njnt):
        name = mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_JOINT, j)
        nth = j - m.body_jntadr[m.jnt_bodyid[j]] + 1
        model.joints.append(name or f"{model.bodies[m.jnt_bodyid[j]]}_joint{nth if nth > 1 else ''}")
    return model


def _keyframe(model: CompiledModel, name: str, path: Path) -> int:
    known = [model.named("key", k) for k in range(model.m.nkey)]
    if name not in known:
        raise DescriptionError(f"{path}: there is no keyframe '{name}'; {nearest(name, known)}")
    return known.index(name)


# -- bodies -----------------------------------------------------------------------------------------


def _link(model: CompiledModel, b: int, meshed: dict[int, RobotVisual]) -> RobotLink:
    m = model.m
    R = quaternion((0.0, 0.0, 0.0), m.body_iquat[b]).R
    geoms = range(m.body_geomadr[b], m.body_geomadr[b] + m.body_geomnum[b])
    visuals = tuple(v for g in geoms if (v := _visual(m, g, meshed)))
    inertia = R @ np.diag(m.body_inertia[b]) @ R.T
    return RobotLink(model.bodies[b], float(m.body_mass[b]), m.body_ipos[b].copy(), inertia, visuals)


def _visual(m: Any, g: int, meshed: dict[int, RobotVisual]) -> RobotVisual | None:
    kind = _SHAPES.get(int(m.geom_type[g]))
    material = m.geom_matid[g]
    rgba = m.geom_rgba[g] if material < 0 else m.mat_rgba[material]
    place, colour = quaternion(m.geom_pos[g], m.geom_quat[g]), tuple(float(x) for x in rgba)
    if g in meshed:
        return RobotVisual("mesh", meshed[g].size, place, colour, meshed[g].file)
    if kind is None or m.geom_group[g] >= _HIDDEN:
        return None
    a, b, c = (float(x) for x in m.geom_size[g])
    sizes = {"sphere": (a,), "capsule": (a, 2 * b), "cylinder": (a, 2 * b), "box": (2 * a, 2 * b, 2 * c)}
    return RobotVisual(kind, sizes[kind], place, colour)


# -- joints -----------------------------------------------------------------------------------------


def _joints(model: CompiledModel, b: int, qpos: np.ndarray, notes: list[str]) -> list[RobotJoint]:
    """The joints between a body and its parent, in order, with links of no mass between several of them.

    Every joint of a body is given in the body's own frame, which those before it have moved.
    """
    m, body = model.m, model.bodies[b]
    parent = model.bodies[m.body_parentid[b]]
    place = quaternion(m.body_pos[b], m.body_quat[b])
    indices = range(m.body_jntadr[b], m.body_jntadr[b] + m.body_jntnum[b]) if m.body_jntnum[b] else []
    if not indices:
        return [RobotJoint(f"{body}_fixed", "fixed", parent, body, place, HERE)]
    found = []
    for j in indices:
        child = body if j == indices[-1] else f"{body}_behind_{model.joints[j]}"
        found.append(_joint(model, j, parent, child, place, qpos, notes))
        parent, place = child, HERE
    return found


def _joint(
    model: CompiledModel,
    j: int,
    parent: str,
    child: str,
    place: PlacedFrame,
    qpos: np.ndarray,
    notes: list[str],
) -> RobotJoint:
    m, name, kind = model.m, model.joints[j], int(model.m.jnt_type[j])
    q, dof = int(m.jnt_qposadr[j]), int(m.jnt_dofadr[j])
    if kind == FREE:
        start = tuple(float(x) for x in qpos[q : q + 7])
        return RobotJoint(name, "free", parent, child, HERE, HERE, start=start)
    common: dict[str, Any] = {
        "damping": float(m.dof_damping[dof]),
        "friction": float(m.dof_frictionloss[dof]),
        "armature": float(m.dof_armature[dof]),
        "stiffness": float(m.jnt_stiffness[j]),
    }
    anchor = point_at(m.jnt_pos[j])
    if kind == BALL:
        if m.jnt_limited[j]:
            notes.append(f"left out: the limit of ball {name}")
        start = tuple(float(x) for x in qpos[q : q + 4])
        return RobotJoint(name, "spherical", parent, child, place @ anchor, anchor, start=start, **common)
    frame = anchor @ along(m.jnt_axis[j])
    ref = float(m.qpos0[q])
    back = turned_about_z(-ref) if kind == HINGE else point_at((0.0, 0.0, -ref))
    low, high = (float(x) for x in m.jnt_range[j])
    return RobotJoint(
        name,
        "revolute" if kind == HINGE else "prismatic",
        parent,
        child,
        place @ frame @ back,
        frame,
        limits=(low, high) if m.jnt_limited[j] and low < high else (-inf, inf),
        rest=float(m.qpos_spring[q]),
        start=(float(qpos[q]),) if qpos[q] else (),
        **common,
    )


def _left_out(model: CompiledModel) -> list[str]:
    """Notes on what the model has and a mechanism has not."""
    m = model.m
    notes = note_left_out(
        "contacts of", [f"{m.ngeom} shapes"] if ((m.geom_contype | m.geom_conaffinity) > 0).any() else []
    )
    for kind, count in (("camera", m.ncam), ("light", m.nlight), ("sensor", m.nsensor)):
        notes += note_left_out(f"{kind}s", [model.named(kind, k) for k in range(count)])
    notes += note_left_out(
        "gravity compensation of", [b for k, b in enumerate(model.bodies) if m.body_gravcomp[k]]
    )
    if m.opt.density or m.opt.viscosity:
        notes.append("left out: the fluid around it")
    for poly, what in (("jnt_stiffnesspoly", "springs"), ("dof_dampingpoly", "dampers")):
        values = getattr(m, poly, None)
        if values is not None and np.any(values):
            notes.append(f"left out: what is not linear in {what}")
    return notes


def main(path: str, seconds: str) -> int:
    """In a process of its own: whether a file can be compiled; what is wrong with it is said elsewhere."""
    import mujoco

    set_limits(MEMORY, int(seconds))
    try:
        _compiled(mujoco, Path(path), tried=True)
    except DescriptionError as error:
        return int("memory" in str(error))
    except (MemoryError, RuntimeError):  # RuntimeError: of C++ without memory
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
