/* SPDX-License-Identifier: GPL-3.0-or-later */
/* prometheus: counts every query of its block, and shows all metrics of the process on an HTTP
 * page. Counting itself is the server's (server/request_metrics.h), which also counts what never reaches a
 * chain. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/metrics/metrics.h"
#include "base/metrics/process.h"
#include "http/server.h"
#include "net/addr.h"
#include "server/handler.h"
#include "server/query.h"
#include "server/request_metrics.h"
#include "server/resource.h"
#include "server/setup.h"

static const struct metrics_family build_info = {
	.name = "coredns_build_info",
	.help = "A metric with a constant '1' value labeled by version, revision, and goversion "
		"from which the server was built.",
	.kind = METRICS_GAUGE,
	.labels = { "version", "revision", "goversion" },
};
static const struct metrics_family plugin_enabled = {
	.name = "coredns_plugin_enabled",
	.help = "A metric that indicates whether a plugin is enabled on per server and zone basis.",
	.kind = METRICS_GAUGE,
	.labels = { "server", "zone", "view", "name" },
};
/* Nothing here panics; the counter stays for the alerts that watch it. */
static const struct metrics_family panics = {
	.name = "coredns_panics_total",
	.help = "A metrics that counts the number of panics.",
	.kind = METRICS_COUNTER,
};

struct prometheus_conf {
	const char *addr;
	bool runtime_metrics;
	const char *below;	   /* name of the next handler; "" when there is none */
	struct resource *shared;   /* NULL before prepare and in dry runs */
	struct resource *listener; /* NULL likewise, and without a page */
};

static int refuse_tls(struct opt_ctx *ctx, const struct opt_line *line);

static const struct opt prometheus_opts[] = {
	{ "<address>", OPT_STRING, offsetof(struct prometheus_conf, addr), .def = "localhost:9153",
	  .args = "HOST:PORT", .help = "address of the HTTP server" },
	{ "runtime_metrics", OPT_FLAG, offsetof(struct prometheus_conf, runtime_metrics),
	  .repeatable = true,
	  .help = "accepted for compatibility with CoreDNS: there is no Go runtime to report on" },
	{ "tls", OPT_FN, .fn = refuse_tls, .min = 1, .max = 1, .args = "FILE",
	  .help = "not supported: refused with an error" },
};

static int refuse_tls(struct opt_ctx *ctx, const struct opt_line *line)
{
	return srcerr_set(
		ctx->err, line->name.pos,
		"tls: web configuration files are not supported; remove the option, listen "
		"on localhost and let a proxy in front add TLS");
}

/* What the blocks of a generation have in common. */
struct shared {
	const struct generation *gen; /* whose plugins coredns_plugin_enabled shows */
};

static int shared_make(void *arg, struct task_owner *tasks, void **ret_value)
{
	(void)tasks;
	(void)arg;
	*ret_value = xcalloc(1, sizeof(struct shared));
	metrics_set(metrics_get(&build_info, (const char *[]){ FAIRLEAD_VERSION, "", "" }), 1);
	metrics_get(&panics, NULL);
	metrics_add_process_collector();
	return 0;
}

static void show_metrics(void *ctx, const struct http_request *req, struct http_reply *reply)
{
	(void)ctx;
	(void)req;
	reply->content_type = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";
	metrics_render(&reply->body);
}

static int listener_make(void *arg, struct task_owner *tasks, void **ret_value)
{
	(void)tasks;
	static const struct http_route route = { .path = "/metrics",
						 .methods = HTTP_ANY_METHOD,
						 .handle = show_metrics };
	struct http_server *http;
	int r = http_server_start(arg, &route, 1, &http);
	if (r < 0)
		return r;
	*ret_value = http;
	return 0;
}

static void listener_free(void *value)
{
	http_server_stop(value);
}

static int prometheus_parse(struct plugin_inst *self, struct setup *setup)
{
	struct prometheus_conf *c = self->conf;
	union net_addr a;
	int r = setup_once(setup);
	if (r < 0)
		return r;
	r = setup_options(setup, setup->dir[0], prometheus_opts, ARRAY_LEN(prometheus_opts), c,
			  NULL);
	if (r < 0)
		return r;
	if (http_server_address(slice_of(c->addr), &a) < 0)
		return setup_error(setup, setup->dir[0]->arg[0].pos,
				   "'%s' is not an address such as localhost:9153", c->addr);
	return 0;
}

static int prometheus_prepare(struct plugin_inst *self, struct prepare *prepare)
{
	struct prometheus_conf *c = self->conf;
	const struct plugin_inst *next = block_next(self->block, self);
	c->below = next != NULL ? next->plugin->name : "";
	if (prepare->dry)
		return 0;
	int r = resource_get("prometheus", shared_make, NULL, free, &c->shared);
	if (r < 0 || prepare->no_metrics_page)
		return r;
	CLEANUP(freep) char *key = xasprintf("prometheus %s", c->addr);
	CLEANUP(freep) char *addr = xstrdup(c->addr);
	r = resource_get(key, listener_make, addr, listener_free, &c->listener);
	if (r < 0) {
		resource_put(TAKE_PTR(c->shared));
		return srcerr_set(prepare->err, self->pos, "cannot listen on '%s': %s", c->addr,
				  err_str(r));
	}
	return 0;
}

/* Each handler on each listener of the block's first zone: as CoreDNS shows it. */
static void show_enabled(struct block *block)
{
	const char *server, *zone;
	const struct plugin_inst *inst;
	for (size_t s = 0; block_served(block, s, &server, &zone); s++) {
		if (strcmp(zone, block_zone_text(block, 0)) != 0)
			continue;
		for (size_t i = 0; (inst = block_inst(block, i)) != NULL; i++) {
			if (inst->chain_at == UINT_MAX)
				continue;
			const char *const values[] = { server, zone, block_conf(block)->view,
						       inst->plugin->name };
			metrics_set(metrics_get(&plugin_enabled, values), 1);
		}
	}
}

/* The first block of a generation removes the series that the one before it has shown. */
static void prometheus_commit(struct plugin_inst *self)
{
	const struct prometheus_conf *c = self->conf;
	struct shared *shared = c->shared->value;
	const struct generation *gen = block_generation(self->block);
	if (shared->gen != gen)
		metrics_drop_family(&plugin_enabled);
	shared->gen = gen;
	show_enabled(self->block);
}

static void prometheus_teardown(struct plugin_inst *self)
{
	struct prometheus_conf *c = self->conf;
	resource_put(TAKE_PTR(c->listener));
	resource_put(TAKE_PTR(c->shared));
}

/* CoreDNS names the handler right below, whichever wrote the reply. */
static void prometheus_done(struct plugin_inst *self, struct query *q)
{
	const struct prometheus_conf *c = self->conf;
	if (LIKELY(!q->in_walk))
		request_metrics_count_query(q, c->below);
}

const struct plugin prometheus_plugin = {
	.name = "prometheus",
	.opts = prometheus_opts,
	.n_opts = ARRAY_LEN(prometheus_opts),
	.conf_size = sizeof(struct prometheus_conf),
	.parse = prometheus_parse,
	.prepare = prometheus_prepare,
	.commit = prometheus_commit,
	.teardown = prometheus_teardown,
	.done = prometheus_done,
};
