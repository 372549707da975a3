# SPDX-License-Identifier: GPL-3.0-or-later
"""Two processes and one Lease. Never two leaders; a dead one is followed in time. Those with leases of two
seconds run alone: on a busy machine a leader may not be able to renew in time."""
import concurrent.futures
import os
import signal
import time

import pytest

from bothlib import c, embedded, real  # noqa: F401 (fixtures)
from controllerlib import FAST, LeaseHistory, namespace, start, until, wall

LEASE = "/apis/coordination.k8s.io/v1/namespaces/{}/leases/fairlead-example"
TAKE_OVERS = {"real": 50, "embedded": 10}
LIMIT = 60  # of waiting; what is too slow is told by the assertions


@pytest.fixture
def free(c):
    """No Lease is left over from another test."""
    c.call("DELETE", LEASE.format("default"))


def lease(c, ns="default"):
    status, body = c.call("GET", LEASE.format(ns))
    return body["spec"] if status == 200 else {}


def leader_of(processes):
    """The living process that reported to lead; a second one is an error."""
    leaders = [p for p in processes if p.find("leading as")]
    assert len(leaders) <= 1, "\n---\n".join(p.text() for p in leaders)
    return leaders[0] if leaders else None


@pytest.mark.alone
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


def take_over_again_and_again(c, ns, times, args, kubeconfig=None):
    """How long each take-over took; the processes that led, in their order."""
    args = [*args, "--namespace", ns]
    kubeconfig = kubeconfig or c.kubeconfig()
    alive = [start(kubeconfig, *args), start(kubeconfig, *args)]
    took, led = [], []
    try:
        for _ in range(times):
            leader = until(lambda: leader_of(alive), LIMIT)
            other = next(p for p in alive if p is not leader)
            other.wait_line("waiting to lead", LIMIT)
            before = lease(c, ns)["leaseTransitions"]
            killed = leader.kill()
            alive.remove(leader)
            led.append(leader)
            took.append(other.wait_line("leading as", LIMIT)[0] - killed)
            assert lease(c, ns)["leaseTransitions"] == before + 1
            alive.append(start(kubeconfig, *args))
        led.append(other)
    finally:
        for p in alive:
            p.stop()
    return took, led


def never_two(led, versions, duration):
    """By what the processes said: each led from its line until it was killed, and the next began later. By the Lease:
    the holders are these processes, one after the other, and none took it before its last renewal had expired."""
    for one, after in zip(led, led[1:]):
        assert one.killed < after.find("leading as")[0], "two lead, by their logs"
        assert not one.find("was lost"), one.text()
    holders = []
    for old, new in zip([None, *versions], versions):
        if not new["holderIdentity"]:
            break  # given back at the end
        if old and old["holderIdentity"] == new["holderIdentity"]:
            assert wall(new["renewTime"]) >= wall(old["renewTime"])
            continue
        if old:
            assert new["leaseTransitions"] == old.get("leaseTransitions", 0) + 1
            assert wall(new["acquireTime"]) >= wall(old["renewTime"]) + duration, "taken while it was another's"
            assert wall(new["acquireTime"]) >= led[len(holders) - 1].killed_wall - 0.001, "two lead, by the Lease"
        holders.append(new["holderIdentity"])
    assert len(holders) == len(set(holders)) == len(led), (holders, len(led))
    for holder, p in zip(holders, led):
        assert holder in p.find("leading as")[1]


@pytest.fixture
def count(request):
    """How many take-overs; those with the embedded API show that it is the same, not how rare an error is."""
    return TAKE_OVERS[request.node.callspec.params["c"]]


def take_overs(c, prefix, pairs, times, args, duration):
    """That many pairs of processes side by side; all times."""
    for i in range(pairs):
        namespace(c, f"{prefix}-{i}")
    history = LeaseHistory(c)
    with concurrent.futures.ThreadPoolExecutor(pairs) as pool:
        jobs = [pool.submit(take_over_again_and_again, c, f"{prefix}-{i}", times, args) for i in range(pairs)]
        results = [job.result() for job in jobs]
    for i in range(pairs):
        until(lambda i=i: history.of(f"{prefix}-{i}")[-1] == lease(c, f"{prefix}-{i}"))
    history.stop()
    for i, (_, led) in enumerate(results):
        never_two(led, history.of(f"{prefix}-{i}"), duration)
    took = [t for times, _ in results for t in times]
    print(f"{len(took)} take-overs, {min(took):.2f} to {max(took):.2f} s")
    assert len(took) == pairs * times
    return took


@pytest.mark.alone
def test_take_overs(c, count):
    """kill -9 of the leader, again and again, with 2 s leases; five pairs of processes side by side."""
    took = take_overs(c, "fast", 5, count // 5, FAST, 2)
    # The lease lasts two seconds since the last renewal, which was 0.2 s ago at most (and was seen a little later).
    assert min(took) > 1.4, "taken while it was another's"
    assert max(took) < 2 * 20 / 15 + 1


def test_take_overs_with_usual_times(c, count):
    """50 of 50 in less than 20 s after kill -9, with 15, 10 and 2 s; 25 pairs of processes side by side."""
    pairs = min(count, 25)
    took = take_overs(c, "usual", pairs, count // pairs, [], 15)
    assert min(took) > 12, "taken while it was another's"
    assert max(took) < 20


def test_killed_on_one_machine(embedded):  # noqa: F811
    """Processes that use the machine's socket see that the leader is dead: nobody waits for 15 s."""
    namespace(embedded, "machine")
    took, _ = take_over_again_and_again(embedded, "machine", 3, [], os.path.join(embedded.data, "system.kubeconfig"))
    print(f"take-overs after {', '.join(f'{t:.2f}' for t in took)} s")
    assert max(took) < 10, "the Lease lasts 15 s; a follower asks every 2.4 s at most"


@pytest.mark.alone
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


@pytest.mark.alone
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
