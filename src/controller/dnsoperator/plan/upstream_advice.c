/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Warnings about configuration that is accepted but hardly intended. It is never refused, because
 * OpenShift's own DNS operator accepts it, too (OP-D2, OP-D5). */
#include <stdio.h>

#include "controller/dnsoperator/plan/render.h"
#include "controller/dnsoperator/plan/upstream_advice.h"
#include "controller/dnsoperator/plan/zones.h"

enum { CLEAR_PORT = 53 };

static void begin_line(struct strbuf *out)
{
	if (out->n != 0)
		strbuf_addc(out, '\n');
}

static void advise_transport(const struct dnsoperator_transport *transport, const char *field,
			     struct strbuf *out)
{
	if (dnsoperator_is_tls(transport) || transport->server_name[0] == '\0')
		return;
	begin_line(out);
	strbuf_addf(out,
		    "%s.transportConfig.tls is ignored, since transport is not TLS; set transport: "
		    "TLS, or remove it.",
		    field);
}

/* The CRD's default port is 53, also for DNS over TLS, which hardly any server offers there. */
static void advise_port(const struct dnsoperator_resolvers *resolvers, struct strbuf *out)
{
	const struct dnsoperator_upstream *u = resolvers->upstreams.v;
	for (size_t i = 0; dnsoperator_is_tls(&resolvers->how) && i < resolvers->upstreams.n; i++) {
		if (u[i].port != CLEAR_PORT)
			continue;
		begin_line(out);
		strbuf_addf(
			out,
			"spec.upstreamResolvers.upstreams[%zu].port is 53, which is also set "
			"where it is left out, and transport is TLS; most servers use port 853.",
			i);
	}
}

/* The cluster's names then get a server block of their own (render.h). */
static void advise_zones(const struct dnsoperator_server *server, size_t index, const char *domain,
			 struct strbuf *out)
{
	for (size_t i = 0; i < server->zones.n; i++) {
		if (!dnsoperator_server_zone_covers(server->zones.v[i], domain))
			continue;
		begin_line(out);
		strbuf_addf(out,
			    "spec.servers[%zu].zones[%zu]: \"%s\" includes zones of the cluster, "
			    "which are excluded from it: names of %s and the cluster's addresses "
			    "are still answered from its Services.",
			    index, i, server->zones.v[i], domain);
	}
}

void dnsoperator_upstream_advice(const struct dnsoperator_routes *routes, const char *domain,
				 struct strbuf *out)
{
	const struct dnsoperator_server *s = routes->servers.v;
	for (size_t i = 0; i < routes->servers.n; i++) {
		char field[64];
		snprintf(field, sizeof(field), "spec.servers[%zu].forwardPlugin", i);
		advise_transport(&s[i].how, field, out);
		advise_zones(&s[i], i, domain, out);
	}
	advise_transport(&routes->resolvers.how, "spec.upstreamResolvers", out);
	advise_port(&routes->resolvers, out);
}
