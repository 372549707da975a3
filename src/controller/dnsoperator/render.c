/* The text of the Corefile, block by block. */
#include "controller/dnsoperator/render.h"

#include <stdio.h>
#include <string.h>

#include "api/view.h"

struct out {
	struct strbuf *b;
	const struct dnsoperator_wanted *w;
	const struct dnsoperator_site *site;
	const char *domain;
	unsigned port;
	struct dnsoperator_stanzas stanzas;
	bool covered;	/* a template's zone is above the cluster's domain */
	bool own_block; /* the cluster's zones have one: a template or a server covers them */
	struct arena a;
};

static const char *const reverse_zones[] = { "in-addr.arpa", "ip6.arpa" };

/* ---- lines that blocks have in common ---- */

static void add_bind(struct out *o)
{
	const char *bind = o->w->facts->bind;
	if (bind != NULL && bind[0] != '\0')
		strbuf_addf(o->b, "    bind %s\n", bind);
}

static void add_log(struct out *o)
{
	static const char *const classes[] = {
		[DNSOPERATOR_LOG_NORMAL] = "error",
		[DNSOPERATOR_LOG_DEBUG] = "denial error",
		[DNSOPERATOR_LOG_TRACE] = "all",
	};
	strbuf_addf(o->b, "    log . {\n        class %s\n    }\n", classes[o->w->dns->log]);
}

static void add_prometheus(struct out *o)
{
	if (o->site->prometheus[0] != '\0')
		strbuf_addf(o->b, "    prometheus %s\n", o->site->prometheus);
}

static void add_cache(struct out *o)
{
	strbuf_addf(o->b, "    cache %u {\n        denial 9984 %u\n    }\n", o->w->dns->positive_s,
		    o->w->dns->negative_s);
}

/* A CA bundle that is not there (yet) leaves the system's. */
static void add_tls(struct out *o, const struct dnsoperator_transport *t)
{
	const struct dnsoperator_facts *f = o->w->facts;
	if (!dnsoperator_is_tls(t))
		return;
	strbuf_addf(o->b, "        tls_servername %s\n        tls", t->server_name);
	for (size_t i = 0; i < f->n_ca; i++) {
		if (strcmp(f->ca[i].name, t->ca) == 0)
			strbuf_addf(o->b, " /etc/pki/%s-%s/ca-bundle.crt", t->server_name,
				    f->ca[i].revision);
	}
	strbuf_addc(o->b, '\n');
}

static void add_forward_end(struct out *o, const struct dnsoperator_transport *t,
			    enum dnsoperator_policy def)
{
	strbuf_adds(o->b, " {\n");
	add_tls(o, t);
	strbuf_addf(o->b, "        policy %s\n", dnsoperator_policy_word(t->policy, def));
	if (strcmp(t->protocol, "TCP") == 0)
		strbuf_adds(o->b, "        force_tcp\n");
	strbuf_adds(o->b, "    }\n");
}

/* ---- templates ---- */

static void add_templates(struct out *o)
{
	/* what is too long already is refused, and need not be written to its end */
	for (size_t i = 0; i < o->stanzas.n && o->b->n <= DNSOPERATOR_TEXT_MAX; i++) {
		const struct dnsoperator_stanza *s = &o->stanzas.v[i];
		strbuf_adds(o->b, "    template IN AAAA");
		for (size_t k = 0; k < s->n_zones; k++)
			strbuf_addf(o->b, " %s", s->zones[k]);
		strbuf_adds(o->b, " {\n");
		if (!s->of->empty)
			strbuf_addf(o->b, "        answer \"{{ .Name }} %u IN AAAA %s\"\n",
				    s->of->answer.ttl_s, s->of->answer.address);
		strbuf_adds(o->b, "        rcode NOERROR\n    }\n");
	}
}

static bool any_covers(const struct dnsoperator_templates *t, const char *domain)
{
	for (size_t i = 0; i < t->n; i++) {
		for (size_t k = 0; k < t->v[i].n_zones; k++) {
			if (dnsoperator_zone_has(t->v[i].zones[k], domain))
				return true;
		}
	}
	return false;
}

/* ---- servers ---- */

static void add_upstreams(struct out *o, const struct dnsoperator_server *s)
{
	strbuf_adds(o->b, "    forward .");
	for (size_t i = 0; i < s->upstreams.n; i++)
		strbuf_addf(o->b, " %s%s", dnsoperator_is_tls(&s->how) ? "tls://" : "",
			    s->upstreams.v[i]);
	add_forward_end(o, &s->how, DNSOPERATOR_RANDOM);
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

static void add_server(struct out *o, const struct dnsoperator_server *s)
{
	strbuf_addf(o->b, "# %s\n", s->name);
	for (size_t i = 0; i < s->zones.n; i++)
		strbuf_addf(o->b, "%s:%u ", s->zones.v[i], o->port);
	strbuf_adds(o->b, "{\n");
	add_bind(o);
	add_templates(o);
	add_prometheus(o);
	add_upstreams(o, s);
	strbuf_adds(o->b, "    errors\n");
	add_log(o);
	strbuf_adds(o->b, "    bufsize 1232\n");
	add_cache(o);
	strbuf_adds(o->b, "}\n");
}

/* ---- the cluster's names, and all others ---- */

static void add_kubernetes(struct out *o)
{
	const char *kubeconfig = o->w->facts->kubeconfig;
	strbuf_addf(o->b, "    kubernetes %s in-addr.arpa ip6.arpa {\n", o->domain);
	if (kubeconfig != NULL && kubeconfig[0] != '\0') {
		strbuf_adds(o->b, "        kubeconfig ");
		strbuf_add_quoted(o->b, slice_of(kubeconfig));
		strbuf_addc(o->b, '\n');
	}
	strbuf_adds(o->b, "        pods insecure\n"
			  "        fallthrough in-addr.arpa ip6.arpa\n");
	if (o->site->kubeadm)
		strbuf_adds(o->b, "        ttl 30\n");
	strbuf_adds(o->b, "    }\n");
}

/* Type, port and address alike, with what is left out filled in; letters alike. */
static bool same_upstream(const struct dnsoperator_upstream *a,
			  const struct dnsoperator_upstream *b)
{
	enum { DNS_PORT = 53 };
	const char *ta = a->type[0] != '\0' ? a->type : "SystemResolvConf";
	const char *tb = b->type[0] != '\0' ? b->type : "SystemResolvConf";
	return strcmp(ta, tb) == 0 &&
	       (a->port != 0 ? a->port : DNS_PORT) == (b->port != 0 ? b->port : DNS_PORT) &&
	       slice_eq_nocase(slice_of(a->address), slice_of(b->address));
}

static void add_resolver(struct out *o, const struct dnsoperator_upstream *u, bool tls)
{
	strbuf_addf(o->b, " %s", tls ? "tls://" : "");
	if (strcmp(u->type, "Network") != 0) {
		strbuf_adds(o->b, "/etc/resolv.conf");
		return;
	}
	bool brackets = u->port > 0 && strchr(u->address, ':') != NULL;
	strbuf_adds(o->b, brackets ? "[" : "");
	for (const char *p = u->address; *p != '\0'; p++)
		strbuf_addc(o->b, *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p);
	strbuf_adds(o->b, brackets ? "]" : "");
	if (u->port > 0)
		strbuf_addf(o->b, ":%u", (unsigned)u->port);
}

static void add_resolvers(struct out *o)
{
	const struct dnsoperator_resolvers *r = &o->w->routes->resolvers;
	const struct dnsoperator_upstream *v = r->upstreams.v;
	static const struct dnsoperator_upstream system = { "SystemResolvConf", "", 0 };
	if (r->upstreams.n == 0 && o->w->facts->no_resolvers)
		return;
	strbuf_adds(o->b, "    forward .");
	if (r->upstreams.n == 0)
		add_resolver(o, &system, dnsoperator_is_tls(&r->how));
	for (size_t i = 0; i < r->upstreams.n; i++) {
		size_t k = 0;
		while (k < i && !same_upstream(&v[k], &v[i]))
			k++;
		if (k == i)
			add_resolver(o, &v[i], dnsoperator_is_tls(&r->how));
	}
	add_forward_end(o, &r->how, DNSOPERATOR_SEQUENTIAL);
}

/* Does a server list this zone? Twice in a file and CoreDNS refuses all of it. */
static bool is_listed(struct out *o, const char *zone)
{
	const struct dnsoperator_server *s = o->w->routes->servers.v;
	size_t nz = strlen(zone);
	for (size_t i = 0; i < o->w->routes->servers.n; i++) {
		for (size_t k = 0; k < s[i].zones.n; k++) {
			const char *const *zones;
			size_t n;
			if (dnsoperator_server_zones(s[i].zones.v[k], &o->a, &zones, &n) < 0)
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

/* The block that keeps templates and servers for zones above away from the cluster's names. */
static void add_cluster(struct out *o)
{
	strbuf_addf(o->b, "# excluded from %s: %s and the cluster's addresses\n",
		    o->covered ? "templates" : "spec.servers", o->domain);
	strbuf_addf(o->b, "%s:%u ", o->domain, o->port);
	for (size_t i = 0; i < ARRAY_LEN(reverse_zones); i++) {
		if (!is_listed(o, reverse_zones[i]))
			strbuf_addf(o->b, "%s:%u ", reverse_zones[i], o->port);
	}
	strbuf_adds(o->b, "{\n");
	add_bind(o);
	strbuf_adds(o->b, "    bufsize 1232\n    errors\n");
	add_log(o);
	if (o->site->lameduck[0] != '\0')
		strbuf_adds(o->b, "    ready\n");
	add_kubernetes(o);
	add_prometheus(o);
	add_resolvers(o);
	add_cache(o);
	if (o->site->kubeadm)
		strbuf_adds(o->b, "    loadbalance\n");
	strbuf_adds(o->b, "}\n");
}

static void add_root(struct out *o)
{
	strbuf_addf(o->b, ".:%u {\n", o->port);
	add_bind(o);
	strbuf_adds(o->b, "    bufsize 1232\n    errors\n");
	add_log(o);
	if (o->site->lameduck[0] != '\0')
		strbuf_addf(o->b, "    health {\n        lameduck %s\n    }\n    ready\n",
			    o->site->lameduck);
	add_templates(o);
	if (!o->own_block)
		add_kubernetes(o);
	add_prometheus(o);
	add_resolvers(o);
	add_cache(o);
	if (o->site->loop)
		strbuf_adds(o->b, "    loop\n");
	strbuf_adds(o->b, "    reload\n");
	if (o->site->kubeadm)
		strbuf_adds(o->b, "    loadbalance\n");
	strbuf_adds(o->b, "}\n");
}

/* ---- the whole ---- */

/* Tells which text a server runs, to whoever asks it by one of two names (ack.h). */
static void add_marker(struct out *o, char hash[DNSOPERATOR_ACK_HASH_MAX])
{
	char name[DNSOPERATOR_ACK_NAME_MAX];
	dnsoperator_ack_name(o->domain, name);
	dnsoperator_ack_hash(o->b->s, o->b->n, hash);
	strbuf_addf(o->b, DNSOPERATOR_ACK_NAME ":%u ", o->port);
	if (strcmp(name, DNSOPERATOR_ACK_NAME) != 0)
		strbuf_addf(o->b, "%s:%u ", name, o->port);
	strbuf_adds(o->b, "{\n");
	add_bind(o);
	strbuf_addf(o->b,
		    "    template IN TXT {\n"
		    "        answer \"{{ .Name }} 0 IN TXT %s\"\n"
		    "    }\n"
		    "}\n",
		    hash);
}

void dnsoperator_render(const struct dnsoperator_wanted *w, struct strbuf *out,
			char hash[DNSOPERATOR_ACK_HASH_MAX])
{
	struct out o = { .b = out,
			 .w = w,
			 .site = &dnsoperator_sites[w->facts->platform],
			 .domain = dnsoperator_domain(w->facts) };
	const struct dnsoperator_server *s = w->routes->servers.v;
	o.port = o.site->port != 0 ? o.site->port : w->facts->port;
	hash[0] = '\0';
	strbuf_reset(out);
	arena_init(&o.a);
	dnsoperator_stanzas_order(w->templates, &o.a, &o.stanzas);
	o.covered = any_covers(w->templates, o.domain);
	o.own_block = o.covered || any_server_covers(w->routes, o.domain);
	for (size_t i = 0; i < w->routes->servers.n; i++)
		add_server(&o, &s[i]);
	if (o.own_block)
		add_cluster(&o);
	add_root(&o);
	if (o.site->chaos)
		strbuf_addf(out, "hostname.bind:%u {\n    chaos\n}\n", o.port);
	if (w->templates->n != 0)
		add_marker(&o, hash);
	arena_done(&o.a);
}
