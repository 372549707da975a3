# SPDX-License-Identifier: GPL-3.0-or-later
"""Credentials that change: kubeconfigs that name files, and files that are swapped."""
import json
import os
import time


def write_kubeconfig(api, name, user, **cluster):
    path = os.path.join(api.dir, name)
    config = {"apiVersion": "v1", "kind": "Config", "current-context": "x",
              "clusters": [{"name": "x", "cluster": {"server": api.url, "certificate-authority": api.ca, **cluster}}],
              "users": [{"name": "x", "user": user}],
              "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}]}
    with open(path, "w", encoding="utf-8") as f:
        json.dump(config, f)
    return path


def swap(path, text):
    """As kubelet does: a link that changes at once."""
    fresh = f"{path}.{time.monotonic_ns()}"
    with open(fresh, "w", encoding="utf-8") as f:
        f.write(text)
    os.symlink(fresh, path + ".tmp")
    os.rename(path + ".tmp", path)
