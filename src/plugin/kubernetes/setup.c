/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stanza: CoreDNS's options and their checks. Tunables of Go's client are accepted
 * and have no effect. */
#include "plugin/kubernetes/setup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/selector.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text/duration.h"

#define F(name)	    offsetof(struct kubernetes_conf, name)
#define SNAPSHOT_NS ((int64_t)(30 * NS_PER_S))

static const char *const pod_modes[] = { "disabled", "insecure", "verified", NULL };

static int parse_endpoint(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct kubernetes_conf *c = ctx->conf;
	c->endpoint = arena_strdup(ctx->arena, line->arg[0].s);
	if (line->n_arg > 1)
		log_warn(KUBERNETES_AREA,
			 "Multiple endpoints have been deprecated, only the first specified "
			 "endpoint '%s' is used",
			 c->endpoint);
	return 0;
}

static int parse_tls(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct kubernetes_conf *c = ctx->conf;
	const char **at[] = { &c->cert, &c->key, &c->ca };
	for (size_t i = 0; i < ARRAY_LEN(at); i++)
		*at[i] = arena_strdup(ctx->arena, line->arg[i].s);
	return 0;
}

static int parse_kubeconfig(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct kubernetes_conf *c = ctx->conf;
	c->kubeconfig = arena_strdup(ctx->arena, line->arg[0].s);
	c->context = line->n_arg > 1 ? arena_strdup(ctx->arena, line->arg[1].s) : NULL;
	return 0;
}

/* All words of the line are one selector. */
static int parse_selector(struct opt_ctx *ctx, const struct opt_line *line)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct arena scratch;
	struct api_selector sel;
	char err[256] = "";
	for (size_t i = 0; i < line->n_arg; i++)
		strbuf_addf(&text, "%s%s", i != 0 ? " " : "", line->arg[i].s);
	arena_init(&scratch);
	int r = api_label_selector_parse(strbuf_slice(&text), &scratch, &sel, ERR_TEXT(err));
	arena_done(&scratch);
	if (r < 0)
		return srcerr_set(ctx->err, line->arg[0].pos,
				  "unable to parse label selector value: '%s': %s", text.s, err);
	*(const char **)ctx->field = arena_strndup(ctx->arena, text.s, text.n);
	return 0;
}

static int parse_ignore(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct kubernetes_conf *c = ctx->conf;
	if (line->n_arg == 0)
		return 0;
	if (strcmp(line->arg[0].s, "empty_service") != 0)
		return srcerr_set(ctx->err, line->arg[0].pos, "unable to parse ignore value: '%s'",
				  line->arg[0].s);
	c->ignore_empty = true;
	return 0;
}

static int parse_multicluster(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct kubernetes_conf *c = ctx->conf;
	return line->n_arg != 0 ? setup_zones(ctx->user, line->arg, line->n_arg, &c->multicluster)
				: 0;
}

static int parse_snapshot(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct kubernetes_conf *c = ctx->conf;
	c->snapshot = setup_path(ctx->user, line->arg[0].s);
	c->snapshot_ns = SNAPSHOT_NS;
	if (line->n_arg < 2)
		return 0;
	if (duration_parse(slice_of(line->arg[1].s), &c->snapshot_ns) < 0 ||
	    c->snapshot_ns < (int64_t)NS_PER_S)
		return srcerr_set(ctx->err, line->arg[1].pos,
				  "'%s' is not a duration of a second or more", line->arg[1].s);
	return 0;
}

/* A number that Go's client would go by. */
static int parse_tunable(struct opt_ctx *ctx, const struct opt_line *line)
{
	char *end;
	const char *text = line->arg[0].s;
	bool whole = strcmp(line->name.s, "apiserver_qps") != 0;
	errno = 0;
	double v = whole ? (double)strtoll(text, &end, 10) : strtod(text, &end);
	if (end == text || *end != '\0' || errno == ERANGE)
		return srcerr_set(ctx->err, line->arg[0].pos, "invalid %s \"%s\"", line->name.s,
				  line->arg[0].s);
	if (v < 0)
		return srcerr_set(ctx->err, line->arg[0].pos, "%s must be >= 0", line->name.s);
	log_info(KUBERNETES_AREA, "'%s' has no effect here", line->name.s);
	return 0;
}

/* clang-format off */
const struct opt kubernetes_opts[KUBERNETES_N_OPTS] = {
	{ "<zones...>", OPT_LIST, 0, .args = "ZONE...",
	  .help = "zones of the cluster (default: those of the block); at least one must not be a reverse zone" },
	{ "endpoint", OPT_FN, 0, 1, 64, .fn = parse_endpoint, .repeatable = true, .args = "URL",
	  .help = "the API server (default: that of the pod's cluster)" },
	{ "tls", OPT_FN, 0, 3, 3, .fn = parse_tls, .repeatable = true, .args = "CERT KEY CA",
	  .help = "client certificate, key and CA, with endpoint" },
	{ "kubeconfig", OPT_FN, 0, 1, 2, .fn = parse_kubeconfig, .repeatable = true, .args = "FILE [CONTEXT]",
	  .help = "kubeconfig with the API server and the credentials; overrides endpoint" },
	{ "namespaces", OPT_LIST, F(namespaces), .repeatable = true, .args = "NAMESPACE...",
	  .help = "only these namespaces are served" },
	{ "namespace_labels", OPT_FN, F(namespace_labels), 1, 256, .fn = parse_selector, .repeatable = true,
	  .args = "SELECTOR", .help = "only namespaces with these labels are served" },
	{ "labels", OPT_FN, F(labels), 1, 256, .fn = parse_selector, .repeatable = true, .args = "SELECTOR",
	  .help = "only Services, slices and pods with these labels are served" },
	{ "pods", OPT_ENUM, F(pods), .words = pod_modes, .def = "disabled", .repeatable = true, .args = "MODE",
	  .help = "names of pods: disabled, insecure (any address) or verified (existing pods)" },
	{ "endpoint_pod_names", OPT_FLAG, F(endpoint_pod_names), .repeatable = true,
	  .help = "endpoints without a host name are named after their pod" },
	{ "ttl", OPT_UINT, F(ttl_s), 0, 3600, .def = "5", .repeatable = true, .args = "SECONDS", .help = "TTL of answers" },
	{ "noendpoints", OPT_FLAG, F(noendpoints), .repeatable = true,
	  .help = "EndpointSlices are not watched: no headless Services, no endpoints' names" },
	{ "fallthrough", OPT_FN, F(fall), .fn = setup_fallthrough_opt, .repeatable = true, .args = "[ZONE...]",
	  .help = "pass names that do not exist (of these zones) to the next plugin" },
	{ "ignore", OPT_FN, 0, .fn = parse_ignore, .repeatable = true, .args = "empty_service",
	  .help = "a Service with a cluster address, but no ready endpoint, does not exist" },
	{ "multicluster", OPT_FN, 0, .fn = parse_multicluster, .repeatable = true, .args = "[ZONE...]",
	  .help = "zones of Services imported from other clusters" },
	{ "zonal", OPT_FLAG, F(zonal), .repeatable = true,
	  .help = "names of a headless Service's endpoints by topology zone" },
	{ "startup_timeout", OPT_DURATION, F(startup_ns), INT64_MIN, INT64_MAX, .def = "5s", .repeatable = true,
	  .args = "DURATION", .help = "how long a start waits for the API server" },
	{ "snapshot", OPT_FN, 0, 1, 2, .fn = parse_snapshot, .args = "FILE [DURATION]",
	  .help = "(Fairlead's own) the names are kept in a file, and served from it after a start while the API server is unreachable" },
	{ "apiserver_qps", OPT_FN, 0, 1, 1, .fn = parse_tunable, .repeatable = true, .args = "NUMBER", .help = "no effect" },
	{ "apiserver_burst", OPT_FN, 0, 1, 1, .fn = parse_tunable, .repeatable = true, .args = "NUMBER", .help = "no effect" },
	{ "apiserver_max_inflight", OPT_FN, 0, 1, 1, .fn = parse_tunable, .repeatable = true, .args = "NUMBER",
	  .help = "no effect" },
};
/* clang-format on */

/* As CoreDNS sees it: below in-addr.arpa or ip6.arpa, not these themselves. */
static bool is_reverse(const char *zone)
{
	static const char *const ends[] = { ".in-addr.arpa.", ".ip6.arpa." };
	size_t n = strlen(zone);
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		size_t e = strlen(ends[i]);
		if (n >= e && strcmp(zone + n - e, ends[i]) == 0)
			return true;
	}
	return false;
}

static int not_authoritative(const struct kubernetes_conf *conf, struct setup *setup, size_t count)
{
	CLEANUP(strbuf_done) struct strbuf zones = STRBUF_INIT;
	for (size_t i = 0; i < conf->zones.n; i++)
		strbuf_addf(&zones, "%s%s", i != 0 ? " " : "", conf->zones.text[i]);
	return setup_error(setup, setup->dir[0]->name.pos,
			   "is not authoritative for the multicluster zone %s (authoritative "
			   "zones: [%s])",
			   conf->multicluster.text[count], zones.s);
}

static int check_zones(struct kubernetes_conf *conf, struct setup *setup)
{
	const struct srcpos pos = setup->dir[0]->name.pos;
	conf->zone_labels = arena_alloc(setup->arena, conf->zones.n);
	conf->is_multicluster = arena_calloc(setup->arena, conf->zones.n * sizeof(bool));
	conf->is_reverse = arena_calloc(setup->arena, conf->zones.n * sizeof(bool));
	for (size_t i = 0; i < conf->zones.n; i++) {
		const char *zone = conf->zones.text[i];
		conf->zone_labels[i] = (uint8_t)dns_name_labels(conf->zones.wire[i]);
		conf->is_reverse[i] = is_reverse(zone) || strcmp(zone, "in-addr.arpa.") == 0 ||
				      strcmp(zone, "ip6.arpa.") == 0;
	}
	while (conf->primary < conf->zones.n && is_reverse(conf->zones.text[conf->primary]))
		conf->primary++;
	if (conf->primary == conf->zones.n)
		return setup_error(setup, pos, "non-reverse zone name must be used");
	for (size_t m = 0; m < conf->multicluster.n; m++) {
		bool found = false;
		/* Zones below one that is listed are such zones, too. */
		for (size_t i = 0; i < conf->zones.n; i++) {
			found = found ||
				strcmp(conf->zones.text[i], conf->multicluster.text[m]) == 0;
			if (dns_name_is_below(conf->zones.wire[i], conf->multicluster.wire[m]))
				conf->is_multicluster[i] = true;
		}
		if (!found)
			return not_authoritative(conf, setup, m);
	}
	return 0;
}

int kubernetes_parse(struct plugin_inst *self, struct setup *setup)
{
	struct kubernetes_conf *c = self->conf;
	const struct corefile_dir *d = setup->dir[0];
	struct opt_ctx ctx = { .arena = setup->arena, .conf = c, .user = setup, .err = setup->err };
	int r = setup_once(setup);
	if (r == 0)
		r = setup_zones(setup, d->arg, d->n_arg, &c->zones);
	if (r == 0)
		r = setup_zones_fit(setup, d->name.pos, &c->zones, SLICE("\12hostmaster"));
	if (r < 0)
		return r;
	opt_defaults(kubernetes_opts, KUBERNETES_N_OPTS, &ctx);
	r = setup_body(setup, d, kubernetes_opts, KUBERNETES_N_OPTS, c, setup);
	if (r < 0)
		return r;
	if (c->namespaces.n != 0 && c->namespace_labels != NULL)
		return setup_error(setup, d->name.pos,
				   "namespaces and namespace_labels cannot both be set");
	if (c->zonal && c->noendpoints)
		return setup_error(setup, d->name.pos,
				   "zonal requires the endpoint cache; remove noendpoints");
	return check_zones(c, setup);
}
