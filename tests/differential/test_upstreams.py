# SPDX-License-Identifier: GPL-3.0-or-later
"""Cases with upstreams, on CoreDNS against itself: what such a case can say, and that what is wrong is seen."""
import cases
from compare import Pair

CASE = """
about = "upstreams"
seen = "{seen}"
corefile = '''
.:@PORT@ {{
    forward . @UP:one@ @UP:two@ {{
        policy sequential
    }}
    cache 30
}}
'''
queries = '''
{queries}
'''
[upstreams]
two = "* *\\n rcode NOTIMP"
one = '''
a.example. A n=1
    answer {{name}} 20 IN A 192.0.2.1
a.example. A
    answer {{name}} 20 IN A 192.0.2.{{n}}
'''
"""
GOOD = """a.example. A
    answer a.example. 20 IN A 192.0.2.1
    asked 1
a.example. A x2
    asked 0
! wait 1.5s
a.example. A
    answer a.example. 19 IN A 192.0.2.1
! stop one
b.example. A
    rcode NOTIMP
    asked 1
! start one
c.example. A
    rcode REFUSED
    asked 1"""


def problems(make_server, folder, queries, seen="each", spoil=None):
    path = folder / "case.toml"
    path.write_text(CASE.format(seen=seen, queries=queries))
    case = cases.load_answers(str(path))
    case["self"] = True
    servers = [make_server(0, case).start(), make_server(0, case).start()]
    if spoil:
        spoil(servers)
    pair = Pair(servers, case)
    pair.run()
    return pair.problems


def test_a_good_case(make_server, tmp_path):
    assert problems(make_server, tmp_path, GOOD) == []


def test_a_wrong_number_of_queries_is_seen(make_server, tmp_path):
    got = problems(make_server, tmp_path, "a.example. A\n    asked 1\na.example. A\n    asked 1")
    assert len(got) == 2 and "CoreDNS asked upstreams 0 times, not 1" in got[0]


def test_other_upstream_queries_are_seen(make_server, tmp_path):
    def drop_first(servers):
        servers[1].upstreams["one"].stop()
    got = problems(make_server, tmp_path, "a.example. AAAA", spoil=drop_first)
    assert "upstreams got `one: a.example. AAAA udp rd ad` 1 times from CoreDNS, 0 times from Fairlead" in got
    got = problems(make_server, tmp_path, "a.example. AAAA", seen="names", spoil=drop_first)
    assert len(got) == 1 and "CoreDNS only: rcode REFUSED" in got[0]


def test_a_broken_script_is_seen(make_server, tmp_path):
    def spoil(servers):
        for s in servers:  # both, or the test waits long for the reply of one
            s.upstreams["one"].rules[0].replies[0].words.append(("answer", "nonsense"))
    got = problems(make_server, tmp_path, "a.example. A", seen="no", spoil=spoil)
    assert any("upstream one: a.example. A" in p for p in got)
