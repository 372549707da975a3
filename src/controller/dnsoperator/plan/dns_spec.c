/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading the DNS object by tables. */
#include "controller/dnsoperator/plan/dns_spec.h"

#include <string.h>

#include "api/meta.h"
#include "base/err.h"
#include "base/text/duration.h"

enum {
	POSITIVE_S = 900,
	NEGATIVE_S = 30,
	SECONDS_MAX = INT32_MAX,
	NS_PER_S = 1000000000,
};

/* clang-format off */
#define ROW(row_path, row_type, str, member) \
	{ .path = (row_path), .type = (row_type), .offset = offsetof(str, member) }
#define TRANSPORT_ROWS(str, at, how) \
	ROW(at "policy", API_VIEW_STRING, str, how.policy), \
	ROW(at "protocolStrategy", API_VIEW_STRING, str, how.protocol), \
	ROW(at "transportConfig.transport", API_VIEW_STRING, str, how.transport), \
	ROW(at "transportConfig.tls.serverName", API_VIEW_STRING, str, how.server_name), \
	ROW(at "transportConfig.tls.caBundle.name", API_VIEW_STRING, str, how.ca)

static const struct api_view_row server_rows[] = {
	ROW("name", API_VIEW_STRING, struct dnsoperator_server, name),
	ROW("zones", API_VIEW_STRINGS, struct dnsoperator_server, zones),
	ROW("forwardPlugin.upstreams", API_VIEW_STRINGS, struct dnsoperator_server, upstreams),
	TRANSPORT_ROWS(struct dnsoperator_server, "forwardPlugin.", how),
};
static const struct api_view server_view = { server_rows, ARRAY_LEN(server_rows),
					     sizeof(struct dnsoperator_server) };

static const struct api_view_row upstream_rows[] = {
	ROW("type", API_VIEW_STRING, struct dnsoperator_upstream, type),
	ROW("address", API_VIEW_STRING, struct dnsoperator_upstream, address),
	{ .path = "port", .type = API_VIEW_INT, .max = 65535,
	  .offset = offsetof(struct dnsoperator_upstream, port) },
};
static const struct api_view upstream_view = { upstream_rows, ARRAY_LEN(upstream_rows),
					       sizeof(struct dnsoperator_upstream) };

static const struct api_view_row route_rows[] = {
	{ .path = "spec.servers", .type = API_VIEW_STRUCTS, .sub = &server_view,
	  .offset = offsetof(struct dnsoperator_routes, servers) },
	{ .path = "spec.upstreamResolvers.upstreams", .type = API_VIEW_STRUCTS, .sub = &upstream_view,
	  .offset = offsetof(struct dnsoperator_routes, resolvers.upstreams) },
	TRANSPORT_ROWS(struct dnsoperator_routes, "spec.upstreamResolvers.", resolvers.how),
};
static const struct api_view route_view = { route_rows, ARRAY_LEN(route_rows),
					    sizeof(struct dnsoperator_routes) };
/* clang-format on */

void dnsoperator_routes_read(const json_t *spec, struct arena *arena,
			     struct dnsoperator_routes *ret, struct api_errors *errs)
{
	json_t *o = json_pack("{sO}", "spec", api_tree(spec));
	/* the caller reads the errors from errs */
	IGNORE(api_view_fill(&route_view, o, arena, ret, errs));
	json_decref(o);
}

/* As OpenShift's operator: rounded half up to seconds; 0 means the default. */
static uint32_t seconds_at(const json_t *object, const char *path, uint32_t def)
{
	int64_t ns;
	if (duration_parse(slice_of(api_get_string(object, path)), &ns) < 0 || ns < NS_PER_S / 2)
		return def;
	int64_t s = ns / NS_PER_S + (ns % NS_PER_S >= NS_PER_S / 2 ? 1 : 0);
	return s < SECONDS_MAX ? (uint32_t)s : SECONDS_MAX;
}

static enum dnsoperator_log log_level_at(const json_t *object, const char *path)
{
	const char *s = api_get_string(object, path);
	if (strcmp(s, "Trace") == 0)
		return DNSOPERATOR_LOG_TRACE;
	return strcmp(s, "Debug") == 0 ? DNSOPERATOR_LOG_DEBUG : DNSOPERATOR_LOG_NORMAL;
}

void dnsoperator_dns_read(const json_t *object, struct arena *arena, struct dnsoperator_dns *ret)
{
	json_t *spec = json_object_get(object, "spec");
	*ret = (struct dnsoperator_dns){
		.generation = api_generation(object),
		.positive_s = seconds_at(object, "spec.cache.positiveTTL", POSITIVE_S),
		.negative_s = seconds_at(object, "spec.cache.negativeTTL", NEGATIVE_S),
		.log = log_level_at(object, "spec.logLevel"),
		.operator_log = log_level_at(object, "spec.operatorLogLevel"),
		.unmanaged =
			strcmp(api_get_string(object, "spec.managementState"), "Unmanaged") == 0,
		.templates = json_object_get(spec, "templates"),
		.annotation = api_annotation(object, DNSOPERATOR_ANNOTATION),
		.node_placement = json_object_get(spec, "nodePlacement"),
	};
	if (json_is_null(ret->templates))
		ret->templates = NULL;
	json_t *none = json_object();
	dnsoperator_routes_read(json_is_object(spec) ? spec : none, arena, &ret->routes,
				&ret->errs);
	json_decref(none);
}

void dnsoperator_dns_done(struct dnsoperator_dns *dns)
{
	api_errors_done(&dns->errs);
}

const char *dnsoperator_policy_word(const char *policy, enum dnsoperator_policy def)
{
	static const char *const words[] = { "random", "round_robin", "sequential" };
	if (policy[0] == '\0')
		return words[def];
	if (strcmp(policy, "RoundRobin") == 0)
		return words[DNSOPERATOR_ROUND_ROBIN];
	return words[strcmp(policy, "Sequential") == 0 ? DNSOPERATOR_SEQUENTIAL
						       : DNSOPERATOR_RANDOM];
}

bool dnsoperator_is_tls(const struct dnsoperator_transport *transport)
{
	return strcmp(transport->transport, "TLS") == 0;
}
