"""1.8, 6.1: two processes and one Lease. Never two leaders; a dead one is followed in time."""
import concurrent.futures
import signal
import time

import pytest

from controllerlib import FAST, namespace, start, until
from lib import cluster

LEASE = "/apis/coordination.k8s.io/v1/namespaces/{}/leases/fairlead-example"
TAKE_OVERS, PAIRS = 50, 5


@pytest.fixture(scope="module")
def c():
    with cluster.Cluster() as one:
        yield one


@pytest.fixture
def free(c):
    """No Lease is left over from another test."""
    c.call("DELETE", LEASE.format("default"))


def lease(c, ns="default"):
    status, body = c.call("GET", LEASE.format(ns))
    return body["spec"] if status == 200 else {}


def leader_of(processes):
    """The one that said so and lives; a second one is an error."""
    leaders = [p for p in processes if p.find("leading as")]
    assert len(leaders) <= 1, "\n---\n".join(p.text() for p in leaders)
    return leaders[0] if leaders else None


def test_first_leads_and_gives_back(c, free):
    a = start(c.kubeconfig(), *FAST)
    a.wait_line("leading as")
    spec = lease(c)
    assert spec["holderIdentity"] in a.find("leading as")[1]
    assert spec["leaseDurationSeconds"] == 2
    assert len(spec["renewTime"]) == len("2026-11-15T09:30:00.123456Z")
    b = start(c.kubeconfig(), *FAST)
    b.wait_line("waiting to lead")
    first = spec["renewTime"]
    until(lambda: lease(c)["renewTime"] != first)
    assert not b.find("leading as")
    assert a.stop() == 0
    ended = time.monotonic()
    led = b.wait_line("leading as")[0]
    assert led - ended < 1, "a lease that was given back is waited for"
    assert b.stop() == 0
    spec = lease(c)
    assert spec["holderIdentity"] == "" and spec["leaseDurationSeconds"] == 1 and spec["leaseTransitions"] == 1


def take_over_again_and_again(c, ns, times):
    """How long each take-over took."""
    args = [*FAST, "--namespace", ns]
    alive = [start(c.kubeconfig(), *args), start(c.kubeconfig(), *args)]
    took = []
    try:
        for _ in range(times):
            leader = until(lambda: leader_of(alive))
            other = next(p for p in alive if p is not leader)
            other.wait_line("waiting to lead")
            before = lease(c, ns)["leaseTransitions"]
            killed = leader.kill()
            alive.remove(leader)
            took.append(other.wait_line("leading as")[0] - killed)
            assert lease(c, ns)["leaseTransitions"] == before + 1
            alive.append(start(c.kubeconfig(), *args))
    finally:
        for p in alive:
            p.stop()
    return took


def test_take_overs(c):
    """kill -9 of the leader, again and again, with 2 s leases; five pairs of processes side by side."""
    for i in range(PAIRS):
        namespace(c, f"pair-{i}")
    with concurrent.futures.ThreadPoolExecutor(PAIRS) as pool:
        jobs = [pool.submit(take_over_again_and_again, c, f"pair-{i}", TAKE_OVERS // PAIRS) for i in range(PAIRS)]
        took = [t for job in jobs for t in job.result()]
    print(f"{len(took)} take-overs, {min(took):.2f} to {max(took):.2f} s")
    assert len(took) == TAKE_OVERS
    # The lease lasts two seconds since the last renewal, which was 0.2 s ago at most (and was seen a little later).
    assert min(took) > 1.4, "taken while it was another's"
    assert max(took) < 2 * 20 / 15 + 1


def test_take_over_with_usual_times(c, free):
    """< 20 s after kill -9 with 15, 10 and 2 s."""
    a = start(c.kubeconfig())
    a.wait_line("leading as")
    b = start(c.kubeconfig())
    b.wait_line("waiting to lead")
    killed = a.kill()
    led = b.wait_line("leading as", 25)[0]
    assert 12 < led - killed < 20
    assert b.stop() == 0


def test_frozen_leader_finds_out_first(c, free):
    """SIGSTOP, long enough for another to lead; then it goes on: it must stop, not write."""
    a = start(c.kubeconfig(), *FAST)
    a.wait_line("leading as")
    b = start(c.kubeconfig(), *FAST)
    b.wait_line("waiting to lead")
    a.process.send_signal(signal.SIGSTOP)
    b.wait_line("leading as")
    holder = lease(c)["holderIdentity"]
    a.process.send_signal(signal.SIGCONT)
    assert a.process.wait(20) == 1
    a.reader.join(5)
    assert a.find(r"\[ERROR\] controller/example: the lease 'fairlead-example' was lost; stopping"), a.text()
    assert lease(c)["holderIdentity"] == holder, "it must not give back what is not its own any more"
    assert b.stop() == 0


def test_server_away_ends_the_leader(c, free):
    """No renewal for the deadline: the leader ends with status 1, before its lease does."""
    a = start(c.kubeconfig(), "--lease-duration", "4s", "--lease-renew", "2s", "--lease-retry", "300ms")
    a.wait_line("leading as")
    c.api.process.send_signal(signal.SIGSTOP)
    stopped = time.monotonic()
    try:
        lost = a.wait_line("was lost; stopping")[0]
        assert 1.5 < lost - stopped < 2.7
        assert a.process.wait(30) == 1
    finally:
        c.api.process.send_signal(signal.SIGCONT)
        until(lambda: c.call("GET", "/readyz")[0] == 200)
