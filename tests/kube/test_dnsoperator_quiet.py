# SPDX-License-Identifier: GPL-3.0-or-later
"""OP-D8: a settled operator makes no API writes, whatever else happens in the cluster; counted at the API. The ten
minutes of the issue are `tests/bench/operator-quiet`."""
import os

import pytest

from changelib import changing
from controllerlib import until
from quietlib import MERGE, Quiet, split
from test_dnsoperator import DNS

SECONDS = 15
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root (namespaces)")


@pytest.mark.parametrize("kind, platform", [("real", "openshift"), ("real", "kubernetes"), ("embedded", "openshift")])
def test_settled(kind, platform):
    with Quiet(kind, platform) as q:
        leases, rest, life, looks = q.watch(SECONDS)
        assert not rest, rest
        assert all(life[what] > 5 for what in ("node", "pod", "event", "server", "touch")), life
        assert leases > 0 and looks > 5  # it was there, and looked at what happened
        before = split(q.api.counts(q.ours()))[1]
        q.rig.place.done("PATCH", f"{DNS}/default", {"spec": {"templates": changing(2)[0]}}, MERGE)
        until(lambda: sum(split(q.api.counts(q.ours()))[1].values()) > sum(before.values()))  # and what it writes is seen
