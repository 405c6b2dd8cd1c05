"""Machines that lack something, made of Linux namespaces: no rights of root, disks of one's own."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

USER = ["unshare", "--user", "--map-user=12345", "--map-group=12345"]  # no such user, no rights of root
ROOT = ["unshare", "--user", "--mount", "--map-root-user", "sh", "-c"]


def allowed(*words: str) -> bool:
    return sys.platform == "linux" and bool(shutil.which("unshare")) and subprocess.call([*words]) == 0


needs_users = pytest.mark.skipif(not allowed(*USER, "true"), reason="needs user namespaces")
needs_mounts = pytest.mark.skipif(
    not allowed(*ROOT, "mount -t tmpfs tmpfs /mnt"), reason="needs user and mount namespaces"
)
needs_a_place = pytest.mark.skipif(
    sys.executable.startswith("/tmp/"), reason="the environment lies in /tmp, which these tests cover"
)
