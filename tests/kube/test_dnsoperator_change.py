# SPDX-License-Identifier: GPL-3.0-or-later
"""OP-27: a change of `DNS default` is served by all of three servers within two seconds, what they had cached of
before is not seen again, and the operator says so; `tests/bench/template-change` has figures."""
import os

import pytest

from bothlib import c, embedded, real  # noqa: F401 pylint: disable=unused-import
from changelib import Rig

CHANGES, BOUND_SECONDS = 10, 2.0
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root (namespaces)")


@pytest.mark.alone
def test_a_change_is_served_by_all(c, capsys):  # noqa: F811 pylint: disable=redefined-outer-name
    """One after the other, each when the one before was reported as applied."""
    with Rig(c) as rig:
        made = [rig.change() for _ in range(CHANGES)]
        with capsys.disabled():
            print(f" [served after {max(max(x.served) for x in made) * 1000:.0f} ms at most, "
                  f"told after {max(x.applied for x in made) * 1000:.0f}]", end="")
        assert [x.odd for x in made] == [[]] * CHANGES
        assert sum(x.stale for x in made) == 0
        assert max(max(x.served) for x in made) < BOUND_SECONDS, [x.served for x in made]
        assert all(a.asked > CHANGES for a in rig.askers)
