/* SPDX-License-Identifier: GPL-3.0-or-later */
/* example: keeps a copy of one ConfigMap in each Namespace that asks for it by a label, with the
 * addresses of a name that the Namespace may have in an annotation. The smallest complete controller
 * that uses each part of the interface; docs/controllers.md walks through it. This file has its
 * watches, which keys a change of an object queues, and its table. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "controller/controller.h"
#include "controller/example/copies.h"
#include "controller/example/drift.h"
#include "controller/example/hooks.h"
#include "controller/example/known_addresses.h"
#include "controller/example/namespaces.h"
#include "controller/example/rival_check.h"
#include "controller/example/source.h"
#include "controller/example/state.h"

/* ---- which keys a change queues ---- */

/* The key of a Namespace is its name; the source's condition is about all of them. */
static void keys_of_namespace(const struct controller_ctx *ctx, const struct kube_obj *object,
			      controller_emit emit, void *arg)
{
	(void)ctx;
	emit(arg, object->name);
	emit(arg, EXAMPLE_SOURCE_KEY);
}

/* The key of a copy is the name of its namespace. What we wrote ourselves is as it should be. */
static void keys_of_copy(const struct controller_ctx *ctx, const struct kube_obj *object,
			 controller_emit emit, void *arg)
{
	if (!example_drift_is_echo(ctx, object->ns))
		emit(arg, object->ns);
	emit(arg, EXAMPLE_SOURCE_KEY);
}

struct emit_all {
	controller_emit emit;
	void *arg;
};

static bool emit_name(void *ctx, struct kube_obj *obj)
{
	struct emit_all *all = ctx;
	all->emit(all->arg, obj->name);
	return true;
}

/* When the source changes, all copies do; when the rival ends, all are made. */
static void keys_of_all(const struct controller_ctx *ctx, const struct kube_obj *object,
			controller_emit emit, void *arg)
{
	struct emit_all all = { emit, arg };
	(void)object;
	emit(arg, EXAMPLE_SOURCE_KEY);
	controller_each_by(ctx, EXAMPLE_NAMESPACES, 0, SLICE("Active"), emit_name, &all);
}

/* ---- watches ---- */

static const kube_index_fn namespace_indexes[] = { example_index_by_phase };
static const char *const rival_paths[] = { "spec.replicas", "status.replicas",
					   "status.terminatingReplicas", NULL };

static const struct controller_watch watches[EXAMPLE_WATCHES] = {
	[EXAMPLE_NAMESPACES] = { "", "Namespace", .labels = EXAMPLE_LABEL "=true",
				 .record = &example_namespace_kind, .indexes = namespace_indexes,
				 .n_indexes = ARRAY_LEN(namespace_indexes),
				 .keys = keys_of_namespace },
	[EXAMPLE_SOURCE] = { "", "ConfigMap", .own_ns = true,
			     .fields = "metadata.name=" EXAMPLE_SOURCE_NAME, .keys = keys_of_all },
	[EXAMPLE_COPIES] = { "", "ConfigMap", .labels = EXAMPLE_MANAGED_BY "=" EXAMPLE_MANAGER,
			     .keys = keys_of_copy },
	[EXAMPLE_RIVAL] = { "apps", "Deployment", .own_ns = true,
			    .fields = "metadata.name=" EXAMPLE_RIVAL_NAME, .optional = true,
			    .paths = rival_paths, .keys = keys_of_all },
};

static int reconcile_key(struct controller_ctx *ctx, const char *key)
{
	if (example_rival_runs(ctx))
		return 0;
	return strcmp(key, EXAMPLE_SOURCE_KEY) == 0 ? example_reconcile_source(ctx)
						    : example_reconcile_namespace(ctx, key);
}

/* ---- its state ---- */

static int start_example(void **ret_state, struct err_text err)
{
	struct example_state *state = xcalloc(1, sizeof(*state));
	(void)err;
	pthread_mutex_init(&state->lock, NULL);
	own_writes_init(&state->writes);
	map_init(&state->addresses);
	map_init(&state->taken);
	*ret_state = state;
	return 0;
}

static void stop_example(void *state)
{
	struct example_state *of = state;
	own_writes_done(&of->writes);
	example_known_addresses_done(of);
	map_done(&of->taken);
	pthread_mutex_destroy(&of->lock);
	free(of);
}

const struct controller example_controller = {
	.name = "example",
	.help = "copies a ConfigMap into labelled Namespaces; an example of a controller",
	.by_name_only = true,
	.watch = watches,
	.n_watch = ARRAY_LEN(watches),
	.writes = { .per_s = 50, .burst = 100 }, /* a change of the source is one for each copy */
	.has_engine = true,
	.workers = CONTROLLER_WORKERS_MAX,
	.rival_lease = { .name = EXAMPLE_RIVAL_NAME },
	.heartbeat_lease = "fairlead-example-heartbeat",
	.heartbeat_holder = "fairlead-example",
	.reconcile = reconcile_key,
	.start = start_example,
	.stop = stop_example,
	.note = example_rival_note,
	.hooks = example_hooks,
	.n_hooks = EXAMPLE_HOOKS,
};
