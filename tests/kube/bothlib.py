# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests that run against a real API server and against the embedded one, with the same assertions.

    from bothlib import c, embedded, real, real_only  # noqa: F401 (fixtures)

    def test_x(c): ...                 once with each

    @real_only("etcd")
    def test_y(c): ...                 with the real one; WHY says why

A module that wants another real server defines a fixture `real` of its own.
"""
import pytest

from lib.cluster import Cluster, Embedded

# Why some tests run with a real API server alone.
WHY = {
    "etcd": "they compact etcd, or put another version of it below the server; src/apiserver/test_store_*.c do that to ours",
    "flags": "the server is told to behave badly by flags of its own: 429, GOAWAY, no streaming lists, few requests at a time",
    "identities": "the embedded API knows two tokens: no client certificates, no users of one's own, no impersonation, no RBAC",
    "certificates": "the server's certificate is swapped; ours is renewed by itself (src/apiserver/access/test_ca.c)",
    "admission": "registrations of web hooks and policies are not served; hooks of this program are called in process",
    "definitions": "definitions of other kinds are not served",
    "kinds": "the embedded API serves no workloads: a machine has no Deployments",
    "oracle": "they record what the real server says; unit tests hold our code to it",
    "discovery": "the kinds of this program are not there before their definitions are",
}


def real_only(why, fixture="c"):
    assert why in WHY
    return pytest.mark.parametrize(fixture, ["real"], indirect=True)


@pytest.fixture(scope="module")
def real():
    with Cluster() as one:
        yield one


@pytest.fixture(scope="module")
def embedded():
    with Embedded() as one:
        yield one


@pytest.fixture(scope="module", params=["real", "embedded"])
def c(request):
    return request.getfixturevalue(request.param)
