# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the programs of the suite come from (tests/peers/build)."""
import os
import subprocess

import pytest

from lib import cluster, server

BUILD = os.path.join(server.ROOT, "tests", "peers", "build")


def path_of(name, **env):
    return subprocess.run([BUILD, "--path", name], env=dict(os.environ, **env), capture_output=True, text=True,
                          check=True).stdout.strip()


@pytest.mark.parametrize("name, honoured", [("etcd", True), ("kube-apiserver", True), ("kubectl", True),
                                            ("etcd-3.4", False), ("coredns", False)])
def test_kubebuilder_assets(tmp_path, name, honoured):
    """Programs of Kubernetes that somebody has are taken from there; what is not there, and what must be of one version,
    is not."""
    cache, assets = str(tmp_path / "cache"), str(tmp_path)
    own = path_of(name, FAIRLEAD_PEERS=cache, KUBEBUILDER_ASSETS=assets)
    assert own.startswith(cache)
    (tmp_path / name).write_text("#!/bin/sh\n")
    (tmp_path / name).chmod(0o755)
    there = path_of(name, FAIRLEAD_PEERS=cache, KUBEBUILDER_ASSETS=assets)
    assert there == (str(tmp_path / name) if honoured else own)


def test_debian_etcd_is_not_installed():
    """Unpacked into the cache: no package, no unit, no user of it on this machine."""
    program = cluster.peer("etcd-3.4")
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    assert said.startswith("etcd Version: 3.4.23\n")
    assert not program.startswith("/usr/bin")
