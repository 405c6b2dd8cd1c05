"""Robots of other formats, in and out."""

COMMANDS = {
    "import": ("cutjoint.model.robots.import_cli", "read a URDF, MJCF or SDF file, with a report", 20),
    "convert": ("cutjoint.model.robots.convert_cli", "write a mechanism as URDF, MJCF, SDF or YAML", 21),
}
READERS = dict.fromkeys(
    (".urdf", ".xacro", ".xml", ".mjcf", ".sdf", ".world"), "cutjoint.model.robots.load_robot"
)
