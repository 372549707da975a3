# SPDX-License-Identifier: GPL-3.0-or-later
"""A changed configuration is served within a second: a mounted ConfigMap as a kubelet swaps it, plain files, imports. The
interval of `reload` is long in all of them, so changes are found by inotify only."""
import os
import re
import time

import pytest

from helpers import ask, eventually, marked, marker, metric, needs, rewrite, slower
from lib.upstream import Upstream

pytestmark = needs("template", "reload")
SECOND = 1.0


def slow(text):
    """As `marker`; by looking alone a change would be found after an hour."""
    return marker(text).replace("{\n", "{\n    reload 1h 0s\n", 1)


def lay_out(s, folder, texts, version):
    """Files in the way of a kubelet's volume: NAME -> ..data/NAME, and ..data -> ..VERSION, swapped in one step."""
    data = os.path.join(folder, f"..{version}")
    os.makedirs(data)
    for name, text in texts.items():
        with open(os.path.join(data, name), "w", encoding="utf-8") as f:
            f.write(s.fill(text))
    os.symlink(f"..{version}", os.path.join(folder, "..data_tmp"))
    os.rename(os.path.join(folder, "..data_tmp"), os.path.join(folder, "..data"))
    for name in texts:
        if not os.path.lexists(os.path.join(folder, name)):
            os.symlink(f"..data/{name}", os.path.join(folder, name))


def served(s, text, since):
    """Seconds since then until `text` is served."""
    eventually(lambda: marked(s.port()) == text, seconds=5, what=f"{text} is served")
    return time.monotonic() - since


@pytest.fixture
def mounted(serve):
    """A server whose Corefile is in a mounted ConfigMap, version v0."""
    s = serve(slow("v0"))
    os.unlink(s.conf)
    lay_out(s, s.dir, {"Corefile": slow("v1")}, "v1")
    served(s, "v1", time.monotonic())
    return s


def test_a_mounted_config_map_is_applied_within_a_second(mounted, note):
    """OP-27, OP-T17: time from the swap to the first answer by the new text, ten times in a row."""
    took = []
    for i in range(2, 12):
        start = time.monotonic()
        lay_out(mounted, mounted.dir, {"Corefile": slow(f"v{i}")}, f"v{i}")
        took.append(served(mounted, f"v{i}", start))
    note("mounted ConfigMap, from swap to served", f"{max(took) * 1000:.0f} ms at most of {len(took)}")
    assert max(took) < slower(SECOND)
    assert "[ERROR]" not in mounted.output()


def test_a_broken_config_map_is_said_once_and_the_old_one_serves(mounted):
    lay_out(mounted, mounted.dir, {"Corefile": slow("v2").replace("answer", "anwser")}, "v2")
    eventually(lambda: "[ERROR] plugin/reload: " in mounted.output(), what="the error")
    lay_out(mounted, mounted.dir, {"Corefile": slow("v2").replace("answer", "anwser")}, "v3")  # told of, not changed
    assert marked(mounted.port()) == "v1"
    start = time.monotonic()
    lay_out(mounted, mounted.dir, {"Corefile": slow("v4")}, "v4")
    assert served(mounted, "v4", start) < slower(SECOND)
    eventually(lambda: mounted.output().count("Reloading complete") == 2, what="the end of the reload")
    assert mounted.output().count("[ERROR]") == 1


def test_the_page_of_ready_tells_which_configuration_answers(serve):
    """OP-T17: the hash at /config is that of the log, never one of a refused Corefile, and once it is returned every
    answer follows that Corefile."""
    text = lambda v: slow(v).replace("{\n", "{\n    ready 127.0.0.1:@HTTP:ready@\n", 1)  # noqa: E731
    s = serve(text("v0"))
    logged = lambda: re.findall(r"Running configuration SHA512 = ([0-9a-f]{128})\n", s.output())  # noqa: E731
    told = lambda: s.get("ready", "/config")  # noqa: E731
    assert told() == (200, logged()[0] + "\n")
    for i in range(1, 11):
        before = told()
        rewrite(s, text(f"v{i}").replace("answer", "anwser"))
        eventually(lambda: s.output().count("[ERROR]") == i, what="the error")  # pylint: disable=cell-var-from-loop
        assert told() == before
        rewrite(s, text(f"v{i}"))
        eventually(lambda: told() != before, what="another hash")  # pylint: disable=cell-var-from-loop
        assert [marked(s.port()) for _ in range(8)] == [f"v{i}"] * 8  # each from a socket, so by any worker
        eventually(lambda: len(logged()) == i + 1, what="the log")  # pylint: disable=cell-var-from-loop
        assert told() == (200, logged()[-1] + "\n")


@pytest.mark.parametrize("how", ["renamed", "in place", "removed and made"])
def test_a_plain_file_is_applied_within_a_second(serve, how):
    s = serve(slow("one"))
    start = time.monotonic()
    if how == "renamed":
        rewrite(s, slow("two"))
    else:
        if how == "removed and made":
            os.unlink(s.conf)
        with open(s.conf, "w", encoding="utf-8") as f:
            f.write(s.fill(slow("two")))
    assert served(s, "two", start) < slower(SECOND)


def test_imports_are_applied_within_a_second(serve):
    """Files by wildcards in another mounted ConfigMap, as coredns-custom is."""
    s = serve(".:@PORT@ {\n    reload 1h 0s\n    import @DIR@/custom/*.override\n}\n",
              files={"custom/..none/x": ""})
    for i in range(3):
        rule = f'template ANY ANY {{\n answer "{{{{ .Name }}}} 0 IN TXT v{i}"\n}}\n'
        start = time.monotonic()
        lay_out(s, os.path.join(s.dir, "custom"), {"a.override": rule}, f"v{i}")
        assert served(s, f"v{i}", start) < slower(SECOND)


def test_nothing_is_applied_without_the_plugin(serve):
    s = serve(marker("one"))
    rewrite(s, marker("two"))
    for _ in range(100):
        assert marked(s.port()) == "one"
    assert "Reloading" not in s.output()


def test_a_busy_folder_costs_nothing(serve):
    """Other files beside the Corefile change all the time: the Corefile is not read for that."""
    s = serve(slow("one"))
    path = os.path.join(s.dir, "other")
    for i in range(2000):
        with open(path, "w", encoding="ascii") as f:
            f.write(str(i))
    start = time.monotonic()
    rewrite(s, slow("two"))
    assert served(s, "two", start) < slower(SECOND)
    eventually(lambda: s.output().count("Reloading complete") == 1, what="the end of the reload")


# ---- what was cached ----

@pytest.fixture
def resolver():
    with Upstream("*. AAAA\n    answer {name} 3600 IN AAAA 2001:db8::1\n"
                  "*. A\n    answer {name} 3600 IN A 192.0.2.1\n") as up:
        yield up


def filtering(*templates):
    rules = "".join(f"    template IN AAAA {zones}\n" for zones in templates)
    return f".:@PORT@ {{\n    reload 1h 0s\n    cache 3600\n{rules}    forward . @UP:up@\n}}\n"


def change(s, text):
    done = s.output().count("Reloading complete")
    rewrite(s, text)
    eventually(lambda: s.output().count("Reloading complete") > done, what="the reload")


@needs("cache", "forward")
def test_cached_answers_of_changed_templates_stop_at_once(serve, resolver):
    """OP-27, OP-22: the filter comes, changes and goes; nothing old is served, nothing else is asked again."""
    s = serve(filtering(), upstreams={"up": resolver})
    count = lambda name, rtype="AAAA": len(ask(s.port(), name, rtype).answer)  # noqa: E731
    for name in ("www.corp.example.", "www.lab.example.", "www.example.org."):
        assert count(name) == 1 and count(name, "A") == 1
    asked = resolver.count()
    change(s, filtering("corp.example"))
    assert count("www.corp.example.") == 0 and count("www.lab.example.") == 1 and count("www.example.org.") == 1
    assert count("www.lab.example.", "A") == 1 and resolver.count() == asked
    change(s, filtering("corp.example lab.example"))
    assert count("www.corp.example.") == 0 and count("www.lab.example.") == 0 and resolver.count() == asked
    assert count("www.example.org.") == 1 and resolver.count() == asked
    change(s, filtering("."))
    assert count("www.example.org.") == 0 and resolver.count() == asked
    change(s, filtering())
    assert count("www.corp.example.") == 1 and count("www.example.org.") == 1


@needs("cache", "forward", "prometheus")
def test_metrics_show_what_a_filter_does(serve, resolver):
    """OP-T9, OP-39: replies of a template count from the cache too; what goes upstream falls when AAAA is filtered."""
    prom = "    prometheus 127.0.0.1:@HTTP:prom@\n    errors\n"
    text = lambda *t: filtering(*t).replace("    cache", prom + "    cache")  # noqa: E731
    s = serve(text(), upstreams={"up": resolver})
    value = lambda key: metric(s.get("prom", "/metrics")[1], key) or 0  # noqa: E731
    sent = lambda rtype: value(f'coredns_forward_requests_total{{to="{resolver.address}",type="{rtype}"}}')  # noqa: E731
    labels = f'{{class="IN",server="dns://:{s.port()}",type="AAAA",view="",zone="corp.example."}}'
    for i in range(3):
        ask(s.port(), f"n{i}.corp.example.", "AAAA")
        ask(s.port(), f"n{i}.corp.example.", "A")
    assert sent("AAAA") == 3 and sent("A") == 3
    change(s, text("corp.example"))
    for _ in range(3):
        ask(s.port(), "n0.corp.example.", "AAAA")
    assert sent("AAAA") == 3
    assert value("coredns_template_matches_total" + labels) == 1
    assert value("fairlead_dns_template_answers_total" + labels) == 3
    change(s, text("corp.example {\n        answer \"{{ .Name }} 60 IN AAAA 2001:db8::{{ .Name }}\"\n    }"))
    for _ in range(4):
        assert ask(s.port(), "n0.corp.example.", "AAAA").rcode == 2
    assert value("fairlead_dns_template_errors_total" + labels) == 4
    assert value("fairlead_dns_template_answers_total" + labels) == 3
    eventually(lambda: s.output().count("template error") == 1, what="the log")  # OP-40; not of those from the cache
    assert ask(s.port(), "n0.corp.example.", "A").rcode == 0
