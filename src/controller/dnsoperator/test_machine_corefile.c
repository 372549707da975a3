/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The Corefile that `fairlead up` starts with is the operator's for an empty object. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "controller/dnsoperator/machine_corefile.h"

static void render_machine(bool no_resolvers, struct strbuf *out)
{
	const struct controller_machine machine = { .port = 1053,
						    .bind = "127.0.0.1",
						    .kubeconfig = "/data/it's \"here\"",
						    .no_resolvers = no_resolvers };
	dnsoperator_machine_corefile(&machine, out);
}

static void forwards_to_the_machines_servers(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	strbuf_adds(&text, "something else");
	render_machine(false, &text);
	assert_string_equal(text.s, ".:1053 {\n"
				    "    bind 127.0.0.1\n"
				    "    bufsize 1232\n"
				    "    errors\n"
				    "    log . {\n"
				    "        class error\n"
				    "    }\n"
				    "    searchpath cluster.local\n"
				    "    kubernetes cluster.local in-addr.arpa ip6.arpa {\n"
				    "        kubeconfig \"/data/it's \\\"here\\\"\"\n"
				    "        pods insecure\n"
				    "        fallthrough in-addr.arpa ip6.arpa\n"
				    "    }\n"
				    "    prometheus localhost:9153\n"
				    "    forward . /etc/resolv.conf {\n"
				    "        policy sequential\n"
				    "    }\n"
				    "    cache 900 {\n"
				    "        denial 9984 30\n"
				    "    }\n"
				    "    loop\n"
				    "    reload\n"
				    "}\n");
}

/* Nobody to forward to: other names are refused, unknown reverse names do not exist. */
static void serves_its_zones_alone(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	render_machine(true, &text);
	assert_memory_equal(text.s, "cluster.local:1053 in-addr.arpa:1053 ip6.arpa:1053 {\n", 53);
	assert_null(strstr(text.s, "forward"));
	assert_null(strstr(text.s, "fallthrough"));
	assert_null(strstr(text.s, "loop"));
}

static void learns_for_egress_rules(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct controller_machine machine = { .port = 1053,
					      .kubeconfig = "/data/kubeconfig",
					      .egress_ns = "fairlead",
					      .egress_keys = "/data/egress keys",
					      .egress_never = "10.96.0.0/16" };
	dnsoperator_machine_corefile(&machine, &text);
	assert_non_null(strstr(text.s, "    egressfirewall {\n"
				       "        kubeconfig \"/data/kubeconfig\"\n"
				       "        namespace fairlead\n"
				       "        never 10.96.0.0/16\n"
				       "        keys \"/data/egress keys\"\n"
				       "    }\n"));
	/* Its agent has them in force before a program gets them. */
	machine.egress_socket = "/data/egress.sock";
	dnsoperator_machine_corefile(&machine, &text);
	assert_non_null(strstr(text.s, "        keys \"/data/egress keys\"\n"
				       "        hold\n"
				       "        machine\n"
				       "        agent_socket \"/data/egress.sock\"\n"
				       "    }\n"));
}

/* Also where there is nobody to forward to: then other names are still refused. */
static void serves_records(void **state)
{
	(void)state;
	static const char stanza[] = "    records {\n"
				     "        kubeconfig \"/data/kubeconfig\"\n"
				     "        except cluster.local in-addr.arpa ip6.arpa\n"
				     "    }\n";
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct controller_machine machine = { .port = 1053,
					      .kubeconfig = "/data/kubeconfig",
					      .records = true };
	dnsoperator_machine_corefile(&machine, &text);
	assert_non_null(strstr(text.s, stanza));
	assert_null(strstr(text.s, "REFUSED"));
	machine.no_resolvers = true;
	dnsoperator_machine_corefile(&machine, &text);
	const char *cluster =
		strstr(text.s, "cluster.local:1053 in-addr.arpa:1053 ip6.arpa:1053 {\n");
	const char *rest = strstr(text.s, "\n.:1053 {\n"), *records = strstr(text.s, stanza);
	assert_non_null(cluster);
	assert_non_null(rest);
	assert_non_null(records);
	assert_true(cluster < rest && rest < records);
	assert_null(strstr(records + 1, stanza));
	assert_non_null(strstr(records, "    template ANY ANY {\n        rcode REFUSED\n    }\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forwards_to_the_machines_servers),
		cmocka_unit_test(serves_its_zones_alone),
		cmocka_unit_test(learns_for_egress_rules),
		cmocka_unit_test(serves_records),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
