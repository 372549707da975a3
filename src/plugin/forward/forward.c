/* SPDX-License-Identifier: GPL-3.0-or-later */
/* forward: asks other servers. The stanzas of a block are one instance and are tried in file order;
 * each worker has a resolver (resolve/types.h) of its own. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "plugin/forward/cookies.h"
#include "plugin/forward/count.h"
#include "plugin/forward/options.h"
#include "plugin/forward/serve.h"
#include "plugin/forward/upstreams.h"
#include "resolve/resolver.h"
#include "resolve/upstream.h"
#include "server/worker_hook.h"

static int forward_parse(struct plugin_inst *self, struct setup *setup)
{
	struct forward_conf *conf = self->conf;
	conf->stanza = arena_calloc(setup->arena, setup->n_dir * sizeof(*conf->stanza));
	for (size_t i = 0; i < setup->n_dir; i++) {
		struct forward_stanza *stanza = &conf->stanza[conf->n_stanza];
		stanza->index = conf->n_stanza++;
		int r = forward_stanza_parse(setup, setup->dir[i], stanza);
		if (r < 0)
			return r;
	}
	setup->conf->any_class = true;
	return 0;
}

static int make_upstreams(struct forward_conf *conf, struct forward_stanza *stanza,
			  const struct prepare *prepare)
{
	struct resolve_upstream *up[FORWARD_UPSTREAMS_MAX];
	unsigned n = 0;
	int r = forward_upstreams_make(stanza, prepare, up, &n);
	conf->up = xreallocarray(conf->up, conf->n_up + n + 1, sizeof(struct resolve_upstream *));
	if (n != 0)
		memcpy(conf->up + conf->n_up, up, n * sizeof(struct resolve_upstream *));
	stanza->first = conf->n_up;
	stanza->n_up = n;
	conf->n_up += n;
	stanza->attempts =
		(uint32_t)(stanza->has_max_attempts ? stanza->max_attempts : 2 * (uint64_t)n);
	return r;
}

static void forward_teardown(struct plugin_inst *self)
{
	struct forward_conf *conf = self->conf;
	forward_count_done(conf);
	/* No query waits any more: each has left its stanza. */
	for (unsigned i = 0; conf->active != NULL && i < conf->n_stanza; i++)
		assert(atomic_load_explicit(&conf->active[i].n, memory_order_relaxed) == 0);
	free(conf->active);
	for (unsigned i = 0; i < conf->n_up; i++)
		resolve_upstream_unref(conf->up[i]);
	free(conf->up);
}

static int forward_prepare(struct plugin_inst *self, struct prepare *prepare)
{
	struct forward_conf *conf = self->conf;
	conf->active = aligned_alloc(sizeof(*conf->active), conf->n_stanza * sizeof(*conf->active));
	if (conf->active == NULL)
		abort(); /* no memory */
	memset(conf->active, 0, conf->n_stanza * sizeof(*conf->active));
	for (unsigned i = 0; i < conf->n_stanza; i++) {
		int r = make_upstreams(conf, &conf->stanza[i], prepare);
		if (r < 0) {
			forward_teardown(self); /* it is not called for one that failed */
			return r;
		}
	}
	if (!prepare->dry)
		forward_count_init(conf);
	return 0;
}

/* ---- workers ---- */

static void on_hook(struct worker_hook *hook)
{
	struct forward_worker *worker = CONTAINER_OF(hook, struct forward_worker, hook);
	resolver_flush(worker->resolver);
}

static void on_arm(void *ctx)
{
	struct forward_worker *worker = ctx;
	worker_hook_arm(worker->worker, &worker->hook);
}

static int forward_worker_init(struct plugin_inst *self, struct worker *worker)
{
	struct forward_conf *conf = self->conf;
	struct forward_worker *w = xcalloc(1, sizeof(*w));
	w->worker = worker;
	w->slot = worker_slot(worker);
	w->hook.fn = on_hook;
	w->robin = xcalloc(conf->n_stanza, sizeof(*w->robin));
	w->up = xcalloc(conf->n_up + 1, sizeof(*w->up));
	for (unsigned i = 0; i < conf->n_up; i++) {
		w->up[i].upstream = conf->up[i];
		forward_cookie_init(&w->up[i]);
	}
	struct resolver_env env = {
		.loop = worker_loop(worker),
		.ops = worker_net_ops(worker),
		.arm = on_arm,
		.ctx = w,
	};
	w->resolver = resolver_new(&env);
	self->worker_data[w->slot] = w;
	return 0;
}

static void forward_worker_done(struct plugin_inst *self, struct worker *worker)
{
	struct forward_worker *w = self->worker_data[worker_slot(worker)];
	worker_hook_disarm(worker, &w->hook);
	resolver_free(w->resolver);
	free(w->up);
	free(w->robin);
	free(w);
}

/* ---- metadata ---- */

static struct slice upstream_value(struct plugin_inst *self, struct query *q, struct slice label)
{
	const struct forward_query *query = query_state(q, self);
	(void)label;
	return query != NULL && query->upstream != NULL ? slice_of(query->upstream)
							: (struct slice){ NULL, 0 };
}

static void forward_metadata(struct plugin_inst *self, struct query *q)
{
	query_meta_set(q, self, "forward/upstream", upstream_value);
}

const struct plugin forward_plugin = {
	.name = "forward",
	.opts = forward_opts,
	.n_opts = FORWARD_OPTS,
	.conf_size = sizeof(struct forward_conf),
	.state_size = sizeof(struct forward_query),
	.parse = forward_parse,
	.prepare = forward_prepare,
	.worker_init = forward_worker_init,
	.worker_done = forward_worker_done,
	.teardown = forward_teardown,
	.serve = forward_serve,
	.resume = forward_resume,
	.cancel = forward_done,
	.done = forward_done,
	.ops.metadata = forward_metadata,
};
