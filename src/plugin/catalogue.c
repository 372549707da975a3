/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The catalogue as a table, and the sentences made of it. docs/plugins/README.md shows the rows of
 * the first two kinds in the same order and words; a test compares them. */
#include "plugin/catalogue.h"

#include <stddef.h>
#include <string.h>

#include "server/handler.h"

#define CHAIN	CATALOGUE_CHAIN
#define NEVER	CATALOGUE_NEVER
#define OUTSIDE CATALOGUE_OUTSIDE
#define GONE	CATALOGUE_GONE

/* clang-format off */
const struct catalogue_row catalogue[] = {
	{ "root", CHAIN, NULL, NULL },
	{ "metadata", CHAIN, NULL, NULL },
	{ "geoip", CHAIN, "place of a client as metadata", "use `view` with the clients' networks" },
	{ "cancel", CHAIN, NULL, NULL },
	{ "proxyproto", CHAIN, "client addresses from the PROXY protocol", "use a balancer that keeps them" },
	{ "quic", CHAIN, "DNS over QUIC", "use DNS over TLS or HTTPS" },
	{ "grpc_server", NEVER, "DNS in gRPC", "use DNS over TLS or HTTPS" },
	{ "https", CHAIN, "DNS over HTTPS", NULL },
	{ "https3", CHAIN, "DNS over HTTP/3", "use DNS over HTTPS" },
	{ "timeouts", CHAIN, NULL, NULL },
	{ "multisocket", CHAIN, NULL, NULL },
	{ "reload", CHAIN, NULL, NULL },
	{ "nsid", CHAIN, NULL, NULL },
	{ "bufsize", CHAIN, NULL, NULL },
	{ "bind", CHAIN, NULL, NULL },
	{ "debug", CHAIN, NULL, NULL },
	{ "trace", NEVER, "spans for Zipkin or Datadog", "use `log`, `prometheus` or `dnstap`" },
	{ "ready", CHAIN, NULL, NULL },
	{ "health", CHAIN, NULL, NULL },
	{ "pprof", NEVER, "profiles of the Go runtime", "use `perf` on the running program, and `prometheus` for its memory" },
	{ "shed", CHAIN, "bounded queue of outgoing UDP replies", "leave it out: replies never queue up in the program" },
	{ "prometheus", CHAIN, NULL, NULL },
	{ "errors", CHAIN, NULL, NULL },
	{ "log", CHAIN, NULL, NULL },
	{ "dnstap", CHAIN, "queries and replies as dnstap", "use `log`" },
	{ "egressfirewall", CHAIN, NULL, NULL },
	{ "local", CHAIN, NULL, NULL },
	{ "dns64", CHAIN, "AAAA records for IPv4-only names", NULL },
	{ "siit", CHAIN, "A records for IPv6-only names", "use `template` for names that are known" },
	{ "any", CHAIN, NULL, NULL },
	{ "chaos", CHAIN, NULL, NULL },
	{ "loadbalance", CHAIN, NULL, NULL },
	{ "tsig", CHAIN, "checks and signs with TSIG", "use `acl` to choose clients" },
	{ "rewrite", CHAIN, "rewrites queries and answers", NULL },
	{ "autopath", CHAIN, "follows a client's search path on the server", NULL },
	{ "searchpath", CHAIN, "(Fairlead's own) whole search lists behind one suffix", NULL },
	{ "acl", CHAIN, NULL, NULL },
	{ "records", CHAIN, NULL, NULL },
	{ "cache", CHAIN, "cache", NULL },
	{ "header", CHAIN, NULL, NULL },
	{ "dnssec", CHAIN, "signs answers on the fly", "use `file` with a zone that is signed already" },
	{ "tls", CHAIN, "certificates for encrypted listeners", NULL },
	{ "minimal", CHAIN, NULL, NULL },
	{ "template", CHAIN, NULL, NULL },
	{ "transfer", CHAIN, "outgoing zone transfers", NULL },
	{ "dynupdate", CHAIN, "dynamic updates of a zone", "use `file`, which reads a changed zone again" },
	{ "hosts", CHAIN, NULL, NULL },
	{ "route53", NEVER, "serves zones kept at Amazon", "use `forward` to its resolver; to put records there, `DNSRecord` objects" },
	{ "azure", NEVER, "serves zones kept at Azure", "use `forward` to its resolver; to put records there, `DNSRecord` objects" },
	{ "clouddns", NEVER, "serves zones kept at Google", "use `forward` to its resolver; to put records there, `DNSRecord` objects" },
	{ "k8s_external", CHAIN, "services of a cluster by external names", NULL },
	{ "kubernetes", CHAIN, "services and pods of a cluster", "use `forward` to the cluster's DNS service" },
	{ "file", CHAIN, "zones from files", NULL },
	{ "auto", CHAIN, "zones from all files of a folder", "use `file` once for each" },
	{ "secondary", CHAIN, "zones transferred from elsewhere", "use `forward` to the primary" },
	{ "etcd", CHAIN, "SkyDNS records in etcd", "use `file` or `hosts`" },
	{ "loop", CHAIN, "finds forwarding loops", NULL },
	{ "forward", CHAIN, "asks other servers", NULL },
	{ "grpc", NEVER, "asks other servers over gRPC", "use `forward` with `tls://`" },
	{ "erratic", CHAIN, NULL, NULL },
	{ "whoami", CHAIN, NULL, NULL },
	{ "on", NEVER, "runs commands at start and stop", "use the service manager's hooks (`ExecStartPost=`, container life-cycle hooks)" },
	{ "sign", CHAIN, "signs zone files", "use a signer beside it, and `file`" },
	{ "view", CHAIN, NULL, NULL },
	{ "nomad", NEVER, "services of Nomad", "use `forward` to Consul's DNS for the services registered there, or `template`" },

	{ "alternate", OUTSIDE, "asks others after an error code", "use `forward` with `next` or `failover`" },
	{ "fanout", OUTSIDE, "asks several servers at once", "use `forward` with several servers" },
	{ "unbound", OUTSIDE, "recursion by libunbound", "use `forward` to an Unbound" },
	{ "kubernetai", OUTSIDE, "several `kubernetes` in one block", "use one block for each cluster's zone" },
	{ "ocp_dnsnameresolver", OUTSIDE, "OpenShift's status of names for its egress firewall", "leave the line out; no status of DNSNameResolver objects is written" },
	{ "k8s_gateway", OUTSIDE, "ingresses and gateways of a cluster", "use `template` or `hosts`" },
	{ "k8s_cache", OUTSIDE, "cached answers of the cluster's zone first", "use `cache`" },
	{ "multicluster", OUTSIDE, "services of several clusters", "use `forward` to each cluster's DNS" },
	{ "dnsredir", OUTSIDE, "upstreams by lists of names", "use blocks of their own with `forward`" },
	{ "blocklist", OUTSIDE, "refuses listed names", "use `hosts` with the list, or `template` with `rcode NXDOMAIN`" },
	{ "ads", OUTSIDE, "refuses advertisers' names", "use `hosts` with the list" },
	{ "rrl", OUTSIDE, "limits the rate of replies", "use the node's packet filter" },
	{ "ecs", OUTSIDE, "client networks to upstreams", "use `rewrite` with `edns0 subnet`" },
	{ "redis", OUTSIDE, "zones in Redis", "use `file`" },
	{ "mysql", OUTSIDE, "zones in MySQL", "use `file`" },
	{ "pdsql", OUTSIDE, "PowerDNS tables", "use `forward` to a PowerDNS" },
	{ "finalize", OUTSIDE, "resolves CNAMEs in answers", "use `rewrite` with `cname`" },
	{ "mdns", OUTSIDE, "names of multicast DNS", "use `hosts`" },
	{ "wgsd", OUTSIDE, "WireGuard peers", "use `file`" },
	{ "gathersrv", OUTSIDE, "SRV records of several clusters together", "use `template`" },

	{ "metrics", GONE, "its name in the sources of CoreDNS", "use `prometheus`" },
	{ "proxy", GONE, "asked other servers", "use `forward`" },
	{ "federation", GONE, "services of federated clusters", "use `rewrite` or `template`" },
	{ "reverse", GONE, "answers by pattern", "use `template`" },
	{ "startup", GONE, "ran commands at start", "use the service manager's hooks" },
	{ "shutdown", GONE, "ran commands at stop", "use the service manager's hooks" },
	{ NULL, CHAIN, NULL, NULL },
};
/* clang-format on */

static const char *const states[] = {
	[CHAIN] = "is not built yet",
	[NEVER] = "is a plugin of CoreDNS that Fairlead will not have",
	[OUTSIDE] = "is no plugin of CoreDNS itself, and none of Fairlead",
	[GONE] = "is not a plugin any more",
};

/* ---- names that are almost one of ours ---- */

enum { NAME_MAX_BYTES = 31 };

static unsigned min_of_three(unsigned first, unsigned second, unsigned third)
{
	unsigned least = first < second ? first : second;
	return least < third ? least : third;
}

/* Letters to insert, delete, change or swap with their neighbour until one is the other. Both at
 * most NAME_MAX_BYTES long. */
static unsigned edit_distance(const char *left, size_t na, const char *right, size_t nb)
{
	unsigned row[3][NAME_MAX_BYTES + 1];
	unsigned *before = row[0], *last = row[1], *cur = row[2];
	for (unsigned k = 0; k <= nb; k++)
		last[k] = k;
	for (unsigned i = 1; i <= na; i++) {
		cur[0] = i;
		for (unsigned k = 1; k <= nb; k++) {
			unsigned cost = left[i - 1] != right[k - 1];
			cur[k] = min_of_three(last[k] + 1, cur[k - 1] + 1, last[k - 1] + cost);
			if (i > 1 && k > 1 && left[i - 1] == right[k - 2] &&
			    left[i - 2] == right[k - 1])
				cur[k] = min_of_three(cur[k], before[k - 2] + 1, cur[k]);
		}
		unsigned *free_row = before;
		before = last;
		last = cur;
		cur = free_row;
	}
	return last[nb];
}

/* The plugin of the nearest name, a third of its letters away at most; NULL: none. */
static const struct plugin *nearest_plugin(const char *name)
{
	const struct plugin *best = NULL;
	size_t n = strlen(name);
	unsigned best_d = UINT32_MAX;
	if (n > NAME_MAX_BYTES)
		return NULL;
	for (size_t i = 0; plugin_list[i] != NULL; i++) {
		const char *other = plugin_list[i]->name;
		size_t m = strlen(other);
		unsigned d = m <= NAME_MAX_BYTES ? edit_distance(name, n, other, m) : UINT32_MAX;
		if (d < best_d && d <= (m + 2) / 3) {
			best_d = d;
			best = plugin_list[i];
		}
	}
	return best;
}

static const struct catalogue_row *find_row(const char *name)
{
	for (const struct catalogue_row *r = catalogue; r->name != NULL; r++) {
		if (strcmp(r->name, name) == 0)
			return r;
	}
	return NULL;
}

void catalogue_explain(const char *name, struct strbuf *out)
{
	const struct catalogue_row *row = find_row(name);
	if (row != NULL && row->what != NULL) {
		strbuf_addf(out, "'%s' (%s) %s", name, row->what, states[row->kind]);
		if (row->instead != NULL)
			strbuf_addf(out, "%s %s", row->kind == CHAIN ? "; until then" : ":",
				    row->instead);
		return;
	}
	const struct plugin *near = nearest_plugin(name);
	if (near != NULL)
		strbuf_addf(out, "unknown directive '%s', did you mean '%s'?", name, near->name);
	else
		strbuf_addf(out,
			    "unknown directive '%s', expected the name of a plugin (see `fairlead "
			    "dns -plugins`)",
			    name);
}
