"""Print what is installed here as constraints for pip, with the Python they were tested with."""

import platform
import re
from importlib.metadata import distributions

OURS = {"cutjoint", "pip"}
found = {re.sub(r"[-_.]+", "-", d.metadata["Name"]).lower(): d.version for d in distributions()}
print(f"# What the tests passed with last, on Python {platform.python_version()} ({platform.system()}).")
print("# pip install -c constraints.txt '.[fmu]' installs the same. Written by 'make constraints'.")
print("\n".join(f"{name}=={version}" for name, version in sorted(found.items()) if name not in OURS))
