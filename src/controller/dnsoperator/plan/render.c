/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Renders the Corefile, block by block. */
#include "controller/dnsoperator/plan/render.h"

#include <stdio.h>
#include <string.h>

#include "api/view.h"
#include "controller/dnsoperator/plan/zones.h"

struct out {
	struct strbuf *text;
	const struct dnsoperator_render_in *in;
	const struct dnsoperator_site *site;
	const char *domain;
	unsigned port;
	struct dnsoperator_stanzas stanzas;
	bool covered;	/* a template's zone is above the cluster's domain */
	bool own_block; /* the cluster's zones have one: a template or a server covers them */
	bool forwards;	/* names outside the cluster have a server to go to */
	struct arena arena;
};

static const char *const reverse_zones[] = { "in-addr.arpa", "ip6.arpa" };

/* ---- lines that blocks have in common ---- */

static void add_bind(struct out *out)
{
	const char *bind = out->in->facts->bind;
	if (bind != NULL && bind[0] != '\0')
		strbuf_addf(out->text, "    bind %s\n", bind);
}

static void add_log(struct out *out)
{
	static const char *const classes[] = {
		[DNSOPERATOR_LOG_NORMAL] = "error",
		[DNSOPERATOR_LOG_DEBUG] = "denial error",
		[DNSOPERATOR_LOG_TRACE] = "all",
	};
	strbuf_addf(out->text, "    log . {\n        class %s\n    }\n",
		    classes[out->in->dns->log]);
}

static void add_prometheus(struct out *out)
{
	if (out->site->prometheus[0] != '\0')
		strbuf_addf(out->text, "    prometheus %s\n", out->site->prometheus);
}

static void add_cache(struct out *out)
{
	strbuf_addf(out->text, "    cache %u {\n        denial 9984 %u\n    }\n",
		    out->in->dns->positive_s, out->in->dns->negative_s);
}

static void add_kubeconfig(struct out *out)
{
	const char *kubeconfig = out->in->facts->kubeconfig;
	if (kubeconfig == NULL || kubeconfig[0] == '\0')
		return;
	strbuf_adds(out->text, "        kubeconfig ");
	strbuf_add_quoted(out->text, slice_of(kubeconfig));
	strbuf_addc(out->text, '\n');
}

static void add_hold(struct out *out)
{
	const struct dnsoperator_facts *f = out->in->facts;
	if (f->egress_hold)
		strbuf_adds(out->text, "        hold\n"
				       "        agent_tls " DNSOPERATOR_AGENTS_FOLDER
				       "/tls.crt " DNSOPERATOR_AGENTS_FOLDER
				       "/tls.key " DNSOPERATOR_AGENTS_FOLDER
				       "/ca.crt " DNSOPERATOR_AGENTS_NAME "\n");
	if (f->egress_socket == NULL || f->egress_socket[0] == '\0')
		return;
	strbuf_adds(out->text, "        hold\n        machine\n        agent_socket ");
	strbuf_add_quoted(out->text, slice_of(f->egress_socket));
	strbuf_addc(out->text, '\n');
}

/* Only for servers of this program: CoreDNS would refuse the whole file. */
static void add_egress(struct out *out)
{
	const struct dnsoperator_facts *f = out->in->facts;
	if (f->egress_ns == NULL || f->egress_ns[0] == '\0')
		return;
	strbuf_adds(out->text, "    egressfirewall {\n");
	add_kubeconfig(out);
	strbuf_addf(out->text, "        namespace %s\n", f->egress_ns);
	if (f->egress_never != NULL && f->egress_never[0] != '\0')
		strbuf_addf(out->text, "        never %s\n", f->egress_never);
	if (f->egress_keys != NULL && f->egress_keys[0] != '\0') {
		strbuf_adds(out->text, "        keys ");
		strbuf_add_quoted(out->text, slice_of(f->egress_keys));
		strbuf_addc(out->text, '\n');
	}
	add_hold(out);
	strbuf_adds(out->text, "    }\n");
}

/* Only for servers of this program, too. No object changes names of the cluster or of addresses. */
static void add_records(struct out *out)
{
	if (!out->in->facts->records)
		return;
	strbuf_adds(out->text, "    records {\n");
	add_kubeconfig(out);
	strbuf_addf(out->text, "        except %s", out->domain);
	for (size_t i = 0; i < ARRAY_LEN(reverse_zones); i++)
		strbuf_addf(out->text, " %s", reverse_zones[i]);
	strbuf_adds(out->text, "\n    }\n");
}

/* Without a copy of the CA bundle the system's CAs are used. */
static void add_tls(struct out *out, const struct dnsoperator_transport *transport)
{
	const struct dnsoperator_facts *f = out->in->facts;
	if (!dnsoperator_is_tls(transport))
		return;
	strbuf_addf(out->text, "        tls_servername %s\n        tls", transport->server_name);
	for (size_t i = 0; i < f->n_ca; i++) {
		if (strcmp(f->ca[i].name, transport->ca) == 0)
			strbuf_addf(out->text, " /etc/pki/%s-%s/ca-bundle.crt",
				    transport->server_name, f->ca[i].revision);
	}
	strbuf_addc(out->text, '\n');
}

static void add_forward_end(struct out *out, const struct dnsoperator_transport *transport,
			    enum dnsoperator_policy def)
{
	strbuf_adds(out->text, " {\n");
	add_tls(out, transport);
	strbuf_addf(out->text, "        policy %s\n",
		    dnsoperator_policy_word(transport->policy, def));
	if (strcmp(transport->protocol, "TCP") == 0)
		strbuf_adds(out->text, "        force_tcp\n");
	strbuf_adds(out->text, "    }\n");
}

/* ---- templates ---- */

/* Which zones of templates belong into a block? */
typedef bool zone_filter(const struct out *out, const char *zone);

static bool is_any_zone(const struct out *out, const char *zone)
{
	(void)out;
	(void)zone;
	return true;
}

/* A zone around or inside those of addresses, given by a template that does not cover the cluster's
 * names: it is meant for them. */
static bool is_zone_of_addresses(const struct out *out, const char *zone)
{
	bool meets = false;
	for (size_t i = 0; i < ARRAY_LEN(reverse_zones); i++)
		meets = meets || dnsoperator_zone_has(zone, reverse_zones[i]) ||
			dnsoperator_zone_has(reverse_zones[i], zone);
	return meets && !dnsoperator_zone_has(zone, out->domain);
}

static void add_stanza(struct out *out, const struct dnsoperator_stanza *stanza,
		       zone_filter *belongs)
{
	const struct api_answer *answer = stanza->of->answer;
	size_t n = 0;
	for (size_t i = 0; i < stanza->n_zones; i++) {
		if (belongs(out, stanza->zones[i]))
			strbuf_addf(out->text, "%s %s", n++ == 0 ? "    template IN AAAA" : "",
				    stanza->zones[i]);
	}
	if (n == 0)
		return;
	strbuf_adds(out->text, " {\n");
	for (size_t i = 0; answer != NULL && i < answer->n; i++)
		strbuf_addf(out->text, "        answer \"{{ .Name }} %u IN AAAA %s\"\n",
			    answer->ttl_s, answer->address[i]);
	strbuf_adds(out->text, "        rcode NOERROR\n    }\n");
}

static void add_templates(struct out *out, zone_filter *belongs)
{
	/* what is too long already is refused, and need not be written to its end */
	for (size_t i = 0; i < out->stanzas.n && out->text->n <= DNSOPERATOR_COREFILE_MAX; i++)
		add_stanza(out, &out->stanzas.v[i], belongs);
}

static bool any_covers(const struct dnsoperator_templates *templates, const char *domain)
{
	for (size_t i = 0; i < templates->n; i++) {
		for (size_t k = 0; k < templates->v[i].n_zones; k++) {
			if (dnsoperator_zone_has(templates->v[i].zones[k], domain))
				return true;
		}
	}
	return false;
}

/* ---- servers ---- */

static void add_upstreams(struct out *out, const struct dnsoperator_server *server)
{
	strbuf_adds(out->text, "    forward .");
	for (size_t i = 0; i < server->upstreams.n; i++)
		strbuf_addf(out->text, " %s%s", dnsoperator_is_tls(&server->how) ? "tls://" : "",
			    server->upstreams.v[i]);
	add_forward_end(out, &server->how, DNSOPERATOR_RANDOM);
}

static bool any_server_covers(const struct dnsoperator_routes *routes, const char *domain)
{
	const struct dnsoperator_server *s = routes->servers.v;
	for (size_t i = 0; i < routes->servers.n; i++) {
		for (size_t k = 0; k < s[i].zones.n; k++) {
			if (dnsoperator_server_zone_covers(s[i].zones.v[k], domain))
				return true;
		}
	}
	return false;
}

static void add_server(struct out *out, const struct dnsoperator_server *server)
{
	strbuf_addf(out->text, "# %s\n", server->name);
	for (size_t i = 0; i < server->zones.n; i++)
		strbuf_addf(out->text, "%s:%u ", server->zones.v[i], out->port);
	strbuf_adds(out->text, "{\n");
	add_bind(out);
	add_egress(out);
	add_records(out);
	add_templates(out, is_any_zone);
	add_prometheus(out);
	add_upstreams(out, server);
	strbuf_adds(out->text, "    errors\n");
	add_log(out);
	strbuf_adds(out->text, "    bufsize 1232\n");
	add_cache(out);
	strbuf_adds(out->text, "}\n");
}

/* ---- the cluster's names, and all others ---- */

static void add_kubernetes(struct out *out)
{
	/* only for servers of this program */
	if (out->in->facts->search_suffix)
		strbuf_addf(out->text, "    searchpath %s\n", out->domain);
	strbuf_addf(out->text, "    kubernetes %s in-addr.arpa ip6.arpa {\n", out->domain);
	add_kubeconfig(out);
	strbuf_adds(out->text, "        pods insecure\n");
	/* where nothing follows, unknown reverse names do not exist */
	if (out->forwards)
		strbuf_adds(out->text, "        fallthrough in-addr.arpa ip6.arpa\n");
	if (out->site->kubeadm)
		strbuf_adds(out->text, "        ttl 30\n");
	strbuf_adds(out->text, "    }\n");
}

/* Type, port and address alike, with what is left out filled in; letters alike. */
static bool same_upstream(const struct dnsoperator_upstream *left,
			  const struct dnsoperator_upstream *right)
{
	enum { DNS_PORT = 53 };
	const char *ta = left->type[0] != '\0' ? left->type : "SystemResolvConf";
	const char *tb = right->type[0] != '\0' ? right->type : "SystemResolvConf";
	return strcmp(ta, tb) == 0 &&
	       (left->port != 0 ? left->port : DNS_PORT) ==
		       (right->port != 0 ? right->port : DNS_PORT) &&
	       slice_eq_nocase(slice_of(left->address), slice_of(right->address));
}

static void add_resolver(struct out *out, const struct dnsoperator_upstream *upstream, bool tls)
{
	strbuf_addf(out->text, " %s", tls ? "tls://" : "");
	if (strcmp(upstream->type, "Network") != 0) {
		strbuf_adds(out->text, "/etc/resolv.conf");
		return;
	}
	bool brackets = upstream->port > 0 && strchr(upstream->address, ':') != NULL;
	strbuf_adds(out->text, brackets ? "[" : "");
	for (const char *p = upstream->address; *p != '\0'; p++)
		strbuf_addc(out->text, *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p);
	strbuf_adds(out->text, brackets ? "]" : "");
	if (upstream->port > 0)
		strbuf_addf(out->text, ":%u", (unsigned)upstream->port);
}

static void add_resolvers(struct out *out)
{
	const struct dnsoperator_resolvers *r = &out->in->routes->resolvers;
	const struct dnsoperator_upstream *v = r->upstreams.v;
	static const struct dnsoperator_upstream system = { "SystemResolvConf", "", 0 };
	if (!out->forwards)
		return;
	strbuf_adds(out->text, "    forward .");
	if (r->upstreams.n == 0)
		add_resolver(out, &system, dnsoperator_is_tls(&r->how));
	for (size_t i = 0; i < r->upstreams.n; i++) {
		size_t k = 0;
		while (k < i && !same_upstream(&v[k], &v[i]))
			k++;
		if (k == i)
			add_resolver(out, &v[i], dnsoperator_is_tls(&r->how));
	}
	add_forward_end(out, &r->how, DNSOPERATOR_SEQUENTIAL);
}

/* Does a server list this zone? Twice in a file and CoreDNS refuses all of it. */
static bool is_listed(struct out *out, const char *zone)
{
	const struct dnsoperator_server *s = out->in->routes->servers.v;
	size_t nz = strlen(zone);
	for (size_t i = 0; i < out->in->routes->servers.n; i++) {
		for (size_t k = 0; k < s[i].zones.n; k++) {
			const char *const *zones;
			size_t n;
			if (dnsoperator_server_zones(s[i].zones.v[k], &out->arena, &zones, &n) < 0)
				continue;
			for (size_t j = 0; j < n; j++) {
				if (strncmp(zones[j], zone, nz) == 0 &&
				    strcmp(zones[j] + nz, ".") == 0)
					return true;
			}
		}
	}
	return false;
}

/* The zones of the plugin kubernetes, less those that servers list. */
static void add_cluster_keys(struct out *out)
{
	strbuf_addf(out->text, "%s:%u ", out->domain, out->port);
	for (size_t i = 0; i < ARRAY_LEN(reverse_zones); i++) {
		if (!is_listed(out, reverse_zones[i]))
			strbuf_addf(out->text, "%s:%u ", reverse_zones[i], out->port);
	}
}

/* The block that keeps templates and servers for zones above away from the cluster's names. Templates
 * that name zones of addresses hold here, too. */
static void add_cluster(struct out *out)
{
	strbuf_addf(out->text, "# excluded from %s: %s and the cluster's addresses\n",
		    out->covered ? "templates" : "spec.servers", out->domain);
	add_cluster_keys(out);
	strbuf_adds(out->text, "{\n");
	add_bind(out);
	strbuf_adds(out->text, "    bufsize 1232\n    errors\n");
	add_log(out);
	if (out->site->lameduck[0] != '\0')
		strbuf_adds(out->text, "    ready\n");
	add_egress(out);
	add_templates(out, is_zone_of_addresses);
	add_kubernetes(out);
	add_prometheus(out);
	add_resolvers(out);
	add_cache(out);
	if (out->site->kubeadm)
		strbuf_adds(out->text, "    loadbalance\n");
	strbuf_adds(out->text, "}\n");
}

/* Names outside the cluster are refused where nothing could answer them. */
static bool needs_root_zone(struct out *out)
{
	return out->forwards || out->own_block || out->in->templates->n != 0 ||
	       is_listed(out, out->domain);
}

static void add_root(struct out *out)
{
	if (needs_root_zone(out))
		strbuf_addf(out->text, ".:%u ", out->port);
	else
		add_cluster_keys(out);
	strbuf_adds(out->text, "{\n");
	add_bind(out);
	strbuf_adds(out->text, "    bufsize 1232\n    errors\n");
	add_log(out);
	if (out->site->lameduck[0] != '\0')
		strbuf_addf(out->text, "    health {\n        lameduck %s\n    }\n    ready\n",
			    out->site->lameduck);
	add_egress(out);
	if (needs_root_zone(out))
		add_records(out);
	add_templates(out, is_any_zone);
	if (!out->own_block)
		add_kubernetes(out);
	add_prometheus(out);
	add_resolvers(out);
	add_cache(out);
	if (out->site->loop && out->forwards)
		strbuf_adds(out->text, "    loop\n");
	strbuf_adds(out->text, "    reload\n");
	if (out->site->kubeadm)
		strbuf_adds(out->text, "    loadbalance\n");
	strbuf_adds(out->text, "}\n");
}

/* Where nothing else answers names outside the cluster, only those that have records are not refused. */
static void add_records_block(struct out *out)
{
	if (!out->in->facts->records || needs_root_zone(out))
		return;
	strbuf_addf(out->text, ".:%u {\n", out->port);
	add_bind(out);
	strbuf_adds(out->text, "    bufsize 1232\n    errors\n");
	add_log(out);
	add_egress(out);
	add_records(out);
	strbuf_adds(out->text, "    template ANY ANY {\n        rcode REFUSED\n    }\n");
	add_prometheus(out);
	strbuf_adds(out->text, "}\n");
}

/* ---- the whole ---- */

/* The marker, by its two names (marker.h). */
static void add_marker(struct out *out, char hash[DNSOPERATOR_MARKER_HASH_MAX])
{
	char name[DNSOPERATOR_MARKER_NAME_MAX];
	dnsoperator_marker_name(out->domain, name);
	dnsoperator_marker_hash(out->text->s, out->text->n, hash);
	strbuf_addf(out->text, DNSOPERATOR_MARKER_NAME ":%u ", out->port);
	if (strcmp(name, DNSOPERATOR_MARKER_NAME) != 0)
		strbuf_addf(out->text, "%s:%u ", name, out->port);
	strbuf_adds(out->text, "{\n");
	add_bind(out);
	strbuf_addf(out->text,
		    "    template IN TXT {\n"
		    "        answer \"{{ .Name }} 0 IN TXT %s\"\n"
		    "    }\n"
		    "}\n",
		    hash);
}

void dnsoperator_render(const struct dnsoperator_render_in *wanted, struct strbuf *out,
			char hash[DNSOPERATOR_MARKER_HASH_MAX])
{
	struct out o = { .text = out,
			 .in = wanted,
			 .site = &dnsoperator_sites[wanted->facts->platform],
			 .domain = dnsoperator_domain(wanted->facts) };
	const struct dnsoperator_server *s = wanted->routes->servers.v;
	o.port = o.site->port != 0 ? o.site->port : wanted->facts->port;
	o.forwards = wanted->routes->resolvers.upstreams.n != 0 || !wanted->facts->no_resolvers;
	hash[0] = '\0';
	strbuf_reset(out);
	arena_init(&o.arena);
	dnsoperator_stanzas_order(wanted->templates, &o.arena, &o.stanzas);
	o.covered = any_covers(wanted->templates, o.domain);
	o.own_block = o.covered || any_server_covers(wanted->routes, o.domain);
	for (size_t i = 0; i < wanted->routes->servers.n; i++)
		add_server(&o, &s[i]);
	if (o.own_block)
		add_cluster(&o);
	add_root(&o);
	add_records_block(&o);
	if (o.site->chaos)
		strbuf_addf(out, "hostname.bind:%u {\n    chaos\n}\n", o.port);
	if (wanted->templates->n != 0)
		add_marker(&o, hash);
	arena_done(&o.arena);
}
