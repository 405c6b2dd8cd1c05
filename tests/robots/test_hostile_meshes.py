"""Meshes that ask for any amount of memory or time get none, and others are read as before."""

import os
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("trimesh")

from cutjoint.model.urdf import read_meshes as reading
from cutjoint.model.urdf.read_meshes import key_of, read_meshes

TETRAHEDRON = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], float)
FACES = np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])


def stl(path: Path, count: int = 4) -> Path:
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *TETRAHEDRON[face].ravel(), 0) for face in FACES)
    path.write_bytes(bytes(80) + struct.pack("<I", count) + body)
    return path


def dae(levels: int, fan: int, numbers: str = "0 0 0 1 0 0 0 1 0") -> str:
    """A triangle, and nodes that name each other: fan**levels of it."""
    parameters = "".join(f'<param name="{x}" type="float"/>' for x in "XYZ")
    inner = '<instance_node url="#n{}"/>' * fan
    nodes = "".join(f'<node id="n{k}">{inner.format(*[k + 1] * fan)}</node>' for k in range(levels))
    return (
        '<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">'
        '<asset><unit meter="1"/><up_axis>Z_UP</up_axis></asset><library_geometries><geometry id="g"><mesh>'
        f'<source id="p"><float_array id="a" count="{len(numbers.split())}">{numbers}</float_array>'
        f'<technique_common><accessor source="#a" count="3" stride="3">{parameters}</accessor>'
        '</technique_common></source><vertices id="v"><input semantic="POSITION" source="#p"/></vertices>'
        '<triangles count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles>'
        f'</mesh></geometry></library_geometries><library_nodes><node id="n{levels}">'
        f'<instance_geometry url="#g"/></node>{nodes}</library_nodes><library_visual_scenes>'
        '<visual_scene id="s"><node id="r"><instance_node url="#n0"/></node></visual_scene>'
        '</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>'
    )


def read(*paths: Path) -> list[Any]:
    found = read_meshes(tuple(key_of(path) for path in paths))
    return [found[path] for path in paths]


def test_hostile_meshes_do_not_spoil_those_beside_them(tmp_path: Path, monkeypatch: Any) -> None:
    """A file of 4 kB asked for 800,000 nodes and minutes, an archive of 3.9 MB for 6.5 GB."""
    monkeypatch.setattr(reading, "SECONDS", 3)
    good, last = stl(tmp_path / "good.stl"), stl(tmp_path / "last.stl")
    nodes, packed = tmp_path / "nodes.dae", tmp_path / "packed.dae"
    nodes.write_text(dae(12, 30))
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.dae", dae(0, 0, "1 " * 3_000_000))
    assert nodes.stat().st_size < 20_000 and packed.stat().st_size < 20_000
    many = stl(tmp_path / "many.stl", count=2**32 - 1)
    large = tmp_path / "large.obj"
    with large.open("wb") as stream:
        stream.truncate(reading.LARGEST_MESH + 1)
    found = read(good, nodes, packed, many, large, last)
    assert found[1] == "takes too much memory or time" or "takes too much memory" in found[1]
    assert "is an archive" in found[2] and "is no mesh" in found[3] and "larger than 50 MB" in found[4]
    for corners, faces in (found[0], found[5]):
        assert len(faces) == 4 and np.ptp(corners) == 1.0


def test_a_mesh_that_needs_more_memory_than_there_is_says_so(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(reading, "MEMORY", 1_200_000_000)
    path = tmp_path / "long.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\n" + "f 1 2 3\n" * 6_000_000)
    (found,) = read(path)
    assert isinstance(found, str) and ("too much memory" in found or "more than" in found)


def test_no_other_file_is_opened_for_a_mesh(tmp_path: Path) -> None:
    """`mtllib` named files outside the folder, and trimesh opened them."""
    os.mkfifo(tmp_path / "secret.mtl")  # whoever opens it waits for ever
    inside = tmp_path / "in"
    inside.mkdir()
    path = inside / "a.obj"
    path.write_text("mtllib ../secret.mtl\nusemtl a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    ((_, faces),) = read(path)
    assert len(faces) == 1


def test_what_a_mesh_of_xml_names_is_not_opened_or_unpacked(tmp_path: Path) -> None:
    """Entities were left to lxml; an archive behind a few bytes was unpacked by pycollada."""
    entity, packed = tmp_path / "entity.dae", tmp_path / "packed.dae"
    entity.write_text(dae(0, 0).replace("?>", '?><!DOCTYPE a [<!ENTITY b SYSTEM "file:///dev/null">]>', 1))
    with packed.open("wb") as stream:
        stream.write(b"<!-- -->")
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr("a.dae", dae(0, 0))
    found = read(entity, packed)
    assert "document types" in found[0] and "is an archive" in found[1]


def test_many_hostile_meshes_take_no_more_than_a_few(tmp_path: Path, monkeypatch: Any) -> None:
    """Each took all the time that one may take."""
    tried: list[int] = []
    monkeypatch.setattr(reading, "_run", lambda folder, paths: tried.append(len(paths)))
    paths = [stl(tmp_path / f"{k}.stl") for k in range(9)]
    found = read(*paths)
    assert tried == [9, 8, 7] and found[:3] == [reading.TOO_MUCH] * 3 and "too many before it" in found[8]


def test_a_mesh_that_left_no_memory_for_a_word(tmp_path: Path) -> None:
    (tmp_path / "0.txt").touch()
    assert reading._result(tmp_path / "0") is None


def test_meshes_are_read_once_for_all(tmp_path: Path) -> None:
    paths = [stl(tmp_path / f"{k}.stl") for k in range(3)]
    read_meshes.cache_clear()
    read(*paths)
    read(*paths)
    assert read_meshes.cache_info().misses == 1 and read_meshes.cache_info().hits == 1
