/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text that the DNS operator makes of a number of templates, for measurements:
 *
 *	operator-corefile TEMPLATES ZONES SERVERS
 *
 * Every template has that many zones, `z0.t0.corp.example` to `zN.tM.corp.example`; every second
 *one answers with an address, the others are empty. Each server is an entry of spec.servers with a
 *zone of its own, `s0.example`, so that there is a block more with all templates. */
#include "operator_corefile.h"

#include <stdio.h>
#include <stdlib.h>

#include "controller/dnsoperator/plan/plan.h"

static json_t *template_of(unsigned i, unsigned zones)
{
	char text[80];
	json_t *z = json_array(), *action;
	for (unsigned k = 0; k < zones; k++) {
		snprintf(text, sizeof(text), "z%u.t%u.corp.example", k, i);
		json_array_append_new(z, json_string(text));
	}
	snprintf(text, sizeof(text), "{{ .Name }} 60 IN AAAA 2001:db8::%x", i + 1);
	action = i % 2 == 0 ? json_pack("{s{}}", "returnEmpty")
			    : json_pack("{s{ss}}", "generateResponse", "answerTemplate", text);
	snprintf(text, sizeof(text), "t%u", i);
	return json_pack("{ss,so,so}", "name", text, "zones", z, "action", action);
}

static json_t *server_of(unsigned i)
{
	char zone[32];
	snprintf(zone, sizeof(zone), "s%u.example", i);
	return json_pack("{ss,s[s],s{s[s]}}", "name", "s", "zones", zone, "forwardPlugin",
			 "upstreams", "192.0.2.1");
}

void operator_corefile(unsigned templates, unsigned zones, unsigned servers, struct strbuf *ret)
{
	static const struct dnsoperator_facts facts = { .platform = DNSOPERATOR_OPENSHIFT,
							.families = { .known = true, .v4 = true },
							.gate = DNSOPERATOR_GATE_ON };
	json_t *t = json_array(), *s = json_array();
	for (unsigned i = 0; i < templates; i++)
		json_array_append_new(t, template_of(i, zones));
	for (unsigned i = 0; i < servers; i++)
		json_array_append_new(s, server_of(i));
	json_t *dns = json_pack("{s{so,so}}", "spec", "templates", t, "servers", s);
	struct dnsoperator_plan_in in = { .dns = dns, .facts = &facts };
	struct dnsoperator_plan p;
	dnsoperator_plan_make(&in, &p);
	if (p.templates.n != 0 || p.servers.n != 0)
		abort(); /* refused: too large */
	strbuf_add_slice(ret, strbuf_slice(&p.corefile));
	dnsoperator_plan_done(&p);
	json_decref(dns);
}
