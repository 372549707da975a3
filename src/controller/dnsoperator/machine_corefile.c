/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Renders the Corefile of one machine without an object `DNS default`, by the operator's own plan. */
#include "controller/dnsoperator/machine_corefile.h"

#include "controller/dnsoperator/plan/plan.h"

void dnsoperator_set_machine(struct dnsoperator_facts *facts,
			     const struct controller_machine *machine)
{
	facts->port = machine->port;
	facts->bind = machine->bind;
	facts->kubeconfig = machine->kubeconfig;
	facts->no_resolvers = machine->no_resolvers;
	facts->egress_ns = machine->egress_ns;
	facts->egress_keys = machine->egress_keys;
	facts->egress_never = machine->egress_never;
	facts->egress_socket = machine->egress_socket;
	facts->records = machine->records;
	facts->search_suffix = true; /* the server is always this program */
}

void dnsoperator_machine_corefile(const struct controller_machine *machine, struct strbuf *out)
{
	struct dnsoperator_facts facts = { .platform = DNSOPERATOR_MACHINE, .domain = "" };
	struct dnsoperator_plan plan;
	json_t *empty = json_object();
	dnsoperator_set_machine(&facts, machine);
	dnsoperator_plan_make(&(struct dnsoperator_plan_in){ .dns = empty, .facts = &facts },
			      &plan);
	strbuf_reset(out);
	strbuf_add_slice(out, strbuf_slice(&plan.corefile));
	dnsoperator_plan_done(&plan);
	json_decref(empty);
}
