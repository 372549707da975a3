/* What is accepted, and still hardly what was meant: told, never refused, since the original takes
 * it, too (1.2, 1.5). */
#include <stdio.h>

#include "controller/dnsoperator/advice.h"

enum { CLEAR_PORT = 53 };

static void begin(struct strbuf *out)
{
	if (out->n != 0)
		strbuf_addc(out, '\n');
}

static void advise_transport(const struct dnsoperator_transport *t, const char *field,
			     struct strbuf *out)
{
	if (dnsoperator_is_tls(t) || t->server_name[0] == '\0')
		return;
	begin(out);
	strbuf_addf(out,
		    "%s.transportConfig.tls is ignored, since transport is not TLS; set "
		    "transport: TLS, or take it away.",
		    field);
}

/* The CRD fills in 53 where no port is given, so that DNS over TLS goes where there is none. */
static void advise_port(const struct dnsoperator_resolvers *r, struct strbuf *out)
{
	const struct dnsoperator_upstream *u = r->upstreams.v;
	for (size_t i = 0; dnsoperator_is_tls(&r->how) && i < r->upstreams.n; i++) {
		if (u[i].port != CLEAR_PORT)
			continue;
		begin(out);
		strbuf_addf(out,
			    "spec.upstreamResolvers.upstreams[%zu].port is 53, which is also set "
			    "where it is left out, and transport is TLS; most servers have it on "
			    "port 853.",
			    i);
	}
}

void dnsoperator_advise(const struct dnsoperator_routes *r, struct strbuf *out)
{
	const struct dnsoperator_server *s = r->servers.v;
	for (size_t i = 0; i < r->servers.n; i++) {
		char field[64];
		snprintf(field, sizeof(field), "spec.servers[%zu].forwardPlugin", i);
		advise_transport(&s[i].how, field, out);
	}
	advise_transport(&r->resolvers.how, "spec.upstreamResolvers", out);
	advise_port(&r->resolvers, out);
}
