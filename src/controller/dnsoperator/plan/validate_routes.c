/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Validates spec.servers and spec.upstreamResolvers. OpenShift's operator passes them on unchecked,
 * and CoreDNS then refuses the whole Corefile (OP-D5). What CoreDNS accepts is accepted. */
#include "controller/dnsoperator/plan/validate_routes.h"

#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "base/err.h"
#include "base/map.h"
#include "base/slice.h"
#include "base/text/charset.h"
#include "controller/dnsoperator/plan/render.h"
#include "controller/dnsoperator/plan/validate_templates.h"
#include "controller/dnsoperator/plan/zone_name.h"
#include "controller/dnsoperator/plan/zones.h"
#include "net/addr.h"

enum { UPSTREAMS_MAX = 15 }; /* of the plugin forward */

struct check {
	struct dnsoperator_problems *problems;
	struct arena arena;
	const char *domain; /* of the cluster; NULL: unknown */
	struct map zones;   /* -> the field that has it */
};

static void add_problem(struct check *check, const char *field, const char *value, const char *why,
			const char *fix)
{
	struct slice s = slice_of(value);
	struct dnsoperator_problem_at at = { .field = field, .value = value != NULL ? &s : NULL };
	dnsoperator_problem_add(check->problems, DNSOPERATOR_INVALID_SERVERS, &at, why, fix);
}

static bool has_only(const char *text, const char *also)
{
	for (; *text != '\0'; text++) {
		if (!ascii_isdigit(*text) && !ascii_isalpha(*text) && strchr(also, *text) == NULL)
			return false;
	}
	return true;
}

static bool has_control(const char *text)
{
	for (; *text != '\0'; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return true;
	}
	return false;
}

/* ---- upstreams ---- */

static bool is_ip(struct slice text, bool scope)
{
	struct slice zone = text, ip = slice_cut(&zone, '%');
	union net_addr addr;
	if (net_addr_parse_ip(ip, &addr) < 0)
		return false;
	if (ip.n == text.n)
		return true;
	for (size_t i = 0; i < zone.n; i++) {
		if (!ascii_isdigit(zone.p[i]) && !ascii_isalpha(zone.p[i]) &&
		    !charset_has("._-", zone.p[i]))
			return false;
	}
	return scope && zone.n != 0 && addr.family == AF_INET6;
}

/* An address, with or without a port. */
static bool is_upstream(const char *text, bool scope)
{
	struct slice s = slice_of(text), port = { NULL, 0 };
	uint64_t n = 1;
	if (is_ip(s, scope))
		return true;
	const char *colon = strrchr(text, ':');
	if (colon == NULL)
		return false;
	port = slice_of(colon + 1);
	s.n = (size_t)(colon - text);
	bool brackets = s.n > 2 && s.p[0] == '[' && s.p[s.n - 1] == ']';
	if (brackets)
		s = (struct slice){ s.p + 1, s.n - 2 };
	if (brackets != (memchr(s.p, ':', s.n) != NULL))
		return false;
	return is_ip(s, scope) && slice_u64(port, &n) == 0 && n >= 1 && n <= UINT16_MAX;
}

static void check_tls(struct check *check, const struct dnsoperator_transport *transport,
		      const char *field)
{
	char at[160];
	if (!dnsoperator_is_tls(transport))
		return;
	snprintf(at, sizeof(at), "%s.transportConfig.tls.serverName", field);
	if (transport->server_name[0] == '\0')
		add_problem(check, at, NULL, "is missing",
			    "set the name that the upstreams' certificate carries");
	else if (!has_only(transport->server_name, "-."))
		add_problem(check, at, transport->server_name, "is not a DNS name",
			    "set the name that the upstreams' certificate carries");
	snprintf(at, sizeof(at), "%s.transportConfig.tls.caBundle.name", field);
	if (transport->ca[0] != '\0' && !api_is_subdomain_name(transport->ca))
		add_problem(check, at, transport->ca, "is not the name of a ConfigMap",
			    "name a ConfigMap of the namespace openshift-config");
}

/* ---- servers ---- */

/* Such a server would answer for the cluster's Services, which is never intended. */
static bool refuse_reserved(struct check *check, const char *text, const char *field)
{
	char why[400];
	if (!dnsoperator_server_zone_reserved(text, check->domain))
		return false;
	snprintf(why, sizeof(why), "is in the cluster's own domain %s", check->domain);
	add_problem(check, field, text, why,
		    "remove it: names of the cluster are always answered from its Services");
	return true;
}

static void check_zone(struct check *check, const char *text, const char *field)
{
	static const char *const taken[] = { ".", "hostname.bind.", DNSOPERATOR_MARKER_NAME "." };
	const char *const *zones;
	size_t n;
	struct net_cidr network;
	bool fits = text[0] != '\0' &&
		    (has_only(text, "-._*") ||
		     (strchr(text, '/') != NULL && net_cidr_parse(slice_of(text), &network) == 0));
	if (!fits || dnsoperator_server_zones(text, &check->arena, &zones, &n) < 0) {
		const char *ascii = dnsoperator_zone_advice_ascii(slice_of(text), &check->arena);
		add_problem(check, field, text, "is not a DNS name",
			    ascii != NULL ? ascii : "write it as example.com");
		return;
	}
	if (refuse_reserved(check, text, field))
		return;
	for (size_t i = 0; i < n; i++) {
		const char *have = map_get(&check->zones, slice_of(zones[i]));
		char why[200];
		for (size_t k = 0; k < ARRAY_LEN(taken); k++)
			have = strcmp(zones[i], taken[k]) == 0 ? "the operator's own blocks" : have;
		if (have == NULL) {
			map_set(&check->zones, slice_of(zones[i]),
				arena_strdup(&check->arena, field));
			continue;
		}
		snprintf(why, sizeof(why), "is in %s already", have);
		add_problem(check, field, text, why, "list each zone once");
		return;
	}
}

static void check_server(struct check *check, const struct dnsoperator_server *server, size_t index)
{
	char at[160], forward[80];
	snprintf(at, sizeof(at), "spec.servers[%zu].name", index);
	if (has_control(server->name))
		add_problem(check, at, server->name,
			    "has a control character or a line break in it",
			    "use letters, digits and hyphens");
	snprintf(at, sizeof(at), "spec.servers[%zu].zones", index);
	if (server->zones.n == 0)
		add_problem(check, at, NULL, "is empty", "list the zones that this server is for");
	for (size_t i = 0; i < server->zones.n; i++) {
		snprintf(at, sizeof(at), "spec.servers[%zu].zones[%zu]", index, i);
		check_zone(check, server->zones.v[i], at);
	}
	snprintf(forward, sizeof(forward), "spec.servers[%zu].forwardPlugin", index);
	snprintf(at, sizeof(at), "%s.upstreams", forward);
	if (server->upstreams.n == 0)
		add_problem(check, at, NULL, "is empty", "list the addresses to forward to");
	if (server->upstreams.n > UPSTREAMS_MAX)
		add_problem(check, at, NULL, "has more than 15 upstreams", "use at most 15");
	for (size_t i = 0; i < server->upstreams.n; i++) {
		const char *u = server->upstreams.v[i];
		bool tls = dnsoperator_is_tls(&server->how);
		snprintf(at, sizeof(at), "%s.upstreams[%zu]", forward, i);
		/* over TLS neither a file nor %scope, as in OpenShift's operator */
		if (!is_upstream(u, !tls) && (tls || strcmp(u, "/etc/resolv.conf") != 0))
			add_problem(check, at, u, "is not an IP address",
				    "write it as 10.0.0.1, 10.0.0.1:5353 or [2001:db8::1]:5353");
	}
	check_tls(check, &server->how, forward);
}

/* ---- resolvers ---- */

static void check_resolver(struct check *check, const struct dnsoperator_resolvers *resolvers,
			   size_t index)
{
	const struct dnsoperator_upstream *u =
		&((const struct dnsoperator_upstream *)resolvers->upstreams.v)[index];
	char at[160];
	snprintf(at, sizeof(at), "spec.upstreamResolvers.upstreams[%zu].address", index);
	if (strcmp(u->type, "Network") == 0) {
		if (u->address[0] == '\0')
			add_problem(check, at, NULL, "is missing",
				    "set the address of the upstream");
		else if (!is_ip(slice_of(u->address), false))
			add_problem(check, at, u->address, "is not an IP address",
				    "write it as 10.0.0.1 or 2001:db8::1");
	} else if (dnsoperator_is_tls(&resolvers->how)) {
		snprintf(at, sizeof(at), "spec.upstreamResolvers.upstreams[%zu].type", index);
		add_problem(check, at, u->type, "cannot be reached over TLS",
			    "use type Network with an address, or another transport");
	}
}

static void check_resolvers(struct check *check, const struct dnsoperator_resolvers *resolvers)
{
	static const char at[] = "spec.upstreamResolvers.upstreams";
	if (resolvers->upstreams.n == 0 && dnsoperator_is_tls(&resolvers->how))
		add_problem(check, at, NULL,
			    "is empty, and the node's resolvers cannot be reached over TLS",
			    "list upstreams of type Network, or use another transport");
	if (resolvers->upstreams.n > UPSTREAMS_MAX)
		add_problem(check, at, NULL, "has more than 15 upstreams", "use at most 15");
	for (size_t i = 0; i < resolvers->upstreams.n; i++)
		check_resolver(check, resolvers, i);
	check_tls(check, &resolvers->how, "spec.upstreamResolvers");
}

int dnsoperator_routes_check(const struct dnsoperator_routes *routes, const struct api_errors *errs,
			     const char *domain, struct dnsoperator_problems *problems)
{
	struct check c = { .problems = problems, .domain = domain };
	size_t before = problems->n;
	for (size_t i = 0; i < errs->n; i++)
		add_problem(&c, errs->v[i].field, NULL, errs->v[i].body,
			    "write it as the CRD has it");
	arena_init(&c.arena);
	map_init(&c.zones);
	for (size_t i = 0; i < routes->servers.n; i++)
		check_server(&c, &((const struct dnsoperator_server *)routes->servers.v)[i], i);
	check_resolvers(&c, &routes->resolvers);
	map_done(&c.zones);
	arena_done(&c.arena);
	return problems->n == before ? 0 : ERR_CONFIG;
}

/* ---- what is left of routes that name the cluster's own zones ---- */

static bool has_reserved_zone(json_t *server, const char *domain)
{
	json_t *zones = json_object_get(server, "zones"), *zone;
	size_t i;
	json_array_foreach (zones, i, zone) {
		if (json_is_string(zone) &&
		    dnsoperator_server_zone_reserved(api_text(zone), domain))
			return true;
	}
	return false;
}

static void drop_reserved_zones(json_t *server, const char *domain)
{
	json_t *zones = json_object_get(server, "zones");
	for (size_t i = json_array_size(zones); i-- > 0;) {
		const json_t *zone = json_array_get(zones, i);
		if (json_is_string(zone) &&
		    dnsoperator_server_zone_reserved(api_text(zone), domain))
			json_array_remove(zones, i);
	}
}

json_t *dnsoperator_routes_unreserved(const json_t *spec, const char *domain)
{
	json_t *copy = json_deep_copy(spec);
	json_t *servers = json_object_get(copy, "servers");
	for (size_t i = json_array_size(servers); i-- > 0;) {
		json_t *server = json_array_get(servers, i);
		if (!has_reserved_zone(server, domain))
			continue;
		drop_reserved_zones(server, domain);
		if (json_array_size(json_object_get(server, "zones")) == 0)
			json_array_remove(servers, i);
	}
	return copy;
}
