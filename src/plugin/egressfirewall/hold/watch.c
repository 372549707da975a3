/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two informers, or four. */
#include "plugin/egressfirewall/hold/watch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "api/egress/node_report.h"
#include "api/egress/rules.h"
#include "api/kind.h"
#include "api/meta.h"
#include "api/tree.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "kube/client/client.h"
#include "kube/client/config.h"
#include "kube/decode/compact.h"
#include "kube/decode/tree.h"
#include "kube/informer/informer.h"
#include "plugin/egressfirewall/hold/clients.h"

#define AREA "plugin/egressfirewall"

enum { PODS, FIREWALLS, NAMESPACES, REPORTS, WATCHES_MAX };

struct egressfirewall_watch {
	struct kube_client *client;
	struct kube_string_pool *texts;
	struct kube_server_memory memory;
	struct kube_informer *informer[WATCHES_MAX];
	int n_watches;
	struct egressfirewall_clients *clients;
	const char *report_ns;
};

/* ---- pods ---- */

static void pod_added(void *ctx, struct kube_obj *obj)
{
	const struct egressfirewall_watch *watch = ctx;
	egressfirewall_clients_pod(watch->clients, NULL, obj);
}

static void pod_updated(void *ctx, struct kube_obj *old, struct kube_obj *obj)
{
	const struct egressfirewall_watch *watch = ctx;
	egressfirewall_clients_pod(watch->clients, old, obj);
}

static void pod_deleted(void *ctx, struct kube_obj *last)
{
	const struct egressfirewall_watch *watch = ctx;
	egressfirewall_clients_pod(watch->clients, last, NULL);
}

/* ---- firewalls ---- */

static void firewall_set(void *ctx, struct kube_obj *obj)
{
	const struct egressfirewall_watch *watch = ctx;
	if (strcmp(obj->name, EGRESS_FIREWALL_NAME) == 0)
		egressfirewall_clients_firewall(watch->clients, slice_of(obj->ns),
						kube_tree_of(obj));
}

static void firewall_updated(void *ctx, struct kube_obj *old UNUSED, struct kube_obj *obj)
{
	firewall_set(ctx, obj);
}

static void firewall_deleted(void *ctx, struct kube_obj *last)
{
	const struct egressfirewall_watch *watch = ctx;
	if (strcmp(last->name, EGRESS_FIREWALL_NAME) == 0)
		egressfirewall_clients_firewall(watch->clients, slice_of(last->ns), NULL);
}

/* ---- namespaces of one machine ---- */

/* Network namespaces have addresses of their own. */
static bool is_of_machine(const json_t *ns)
{
	const json_t *annotations = api_get(ns, "metadata.annotations");
	return api_text(json_object_get(annotations, EGRESS_UID_ANNOTATION))[0] != '\0' ||
	       api_text(json_object_get(annotations, EGRESS_CGROUP_ANNOTATION))[0] != '\0';
}

static void namespace_set(void *ctx, struct kube_obj *obj)
{
	const struct egressfirewall_watch *watch = ctx;
	egressfirewall_clients_namespace(watch->clients, slice_of(obj->name),
					 is_of_machine(kube_tree_of(obj)));
}

static void namespace_updated(void *ctx, struct kube_obj *old UNUSED, struct kube_obj *obj)
{
	namespace_set(ctx, obj);
}

static void namespace_deleted(void *ctx, struct kube_obj *last)
{
	const struct egressfirewall_watch *watch = ctx;
	egressfirewall_clients_namespace(watch->clients, slice_of(last->name), false);
}

/* ---- the report of the machine's agent ---- */

static void report_set(void *ctx, struct kube_obj *obj)
{
	const struct egressfirewall_watch *watch = ctx;
	egressfirewall_clients_networks(
		watch->clients, slice_of(api_get_string(kube_tree_of(obj), "data.clients")));
}

static void report_updated(void *ctx, struct kube_obj *old UNUSED, struct kube_obj *obj)
{
	report_set(ctx, obj);
}

static void report_deleted(void *ctx, struct kube_obj *last UNUSED)
{
	const struct egressfirewall_watch *watch = ctx;
	egressfirewall_clients_networks(watch->clients, SLICE(""));
}

static void log_error_text(void *ctx UNUSED, const char *text)
{
	log_warn(AREA, "%s", text);
}

/* ---- life ---- */

static const char *const firewall_paths[] = { "spec",
					      "metadata.annotations[" EGRESS_DEPTH_ANNOTATION "]" };
static const char *const namespace_paths[] = { "metadata.annotations[" EGRESS_UID_ANNOTATION "]",
					       "metadata.annotations[" EGRESS_CGROUP_ANNOTATION
					       "]" };

static const char *const report_paths[] = { "data.clients" };

static const struct {
	const char *group, *kind;
	const char *labels;
	const char *const *paths; /* NULL: the compact form of pods */
	size_t n_paths;
	struct kube_handler handler;
} kinds[WATCHES_MAX] = {
	[PODS] = { .group = "",
		   .kind = "Pod",
		   .handler = { .added = pod_added,
				.updated = pod_updated,
				.deleted = pod_deleted } },
	[FIREWALLS] = { .group = EGRESS_GROUP,
			.kind = EGRESS_FIREWALL_KIND,
			.paths = firewall_paths,
			.n_paths = ARRAY_LEN(firewall_paths),
			.handler = { .added = firewall_set,
				     .updated = firewall_updated,
				     .deleted = firewall_deleted } },
	[NAMESPACES] = { .group = "",
			 .kind = "Namespace",
			 .paths = namespace_paths,
			 .n_paths = ARRAY_LEN(namespace_paths),
			 .handler = { .added = namespace_set,
				      .updated = namespace_updated,
				      .deleted = namespace_deleted } },
	[REPORTS] = { .group = "",
		      .kind = "ConfigMap",
		      .labels = EGRESS_REPORT_LABEL,
		      .paths = report_paths,
		      .n_paths = ARRAY_LEN(report_paths),
		      .handler = { .added = report_set,
				   .updated = report_updated,
				   .deleted = report_deleted } },
};

static int start_informer(struct egressfirewall_watch *watch, int which, struct err_text err)
{
	const struct api_kind *kind = api_kind_find(kinds[which].group, kinds[which].kind);
	watch->informer[which] = kube_informer_new(&(struct kube_informer_conf){
		.client = watch->client,
		.kind = kind,
		.ns = which == REPORTS ? watch->report_ns : NULL,
		.labels = kinds[which].labels,
		.memory = &watch->memory,
		.codec = which == PODS
				 ? kube_pod_node_codec(watch->texts)
				 : kube_tree_codec(kind, kinds[which].paths, kinds[which].n_paths),
	});
	struct kube_handler handler = kinds[which].handler;
	handler.on_error = log_error_text;
	handler.ctx = watch;
	kube_informer_handle(watch->informer[which], &handler);
	return kube_informer_start(watch->informer[which], err);
}

int egressfirewall_watch_start(struct kube_config *config, struct egressfirewall_clients *clients,
			       const struct egressfirewall_watch_conf *conf,
			       struct egressfirewall_watch **ret, struct err_text err)
{
	struct egressfirewall_watch *watch = xcalloc(1, sizeof(*watch));
	watch->clients = clients;
	watch->client = kube_client_new(config);
	watch->texts = kube_string_pool_new();
	watch->n_watches = conf->is_machine ? WATCHES_MAX : NAMESPACES;
	watch->report_ns =
		conf->report_ns != NULL ? conf->report_ns : kube_config_namespace(config);
	int r = 0;
	for (int i = 0; i < watch->n_watches && r == 0; i++)
		r = start_informer(watch, i, err);
	if (r < 0) {
		egressfirewall_watch_stop(watch);
		return r;
	}
	*ret = watch;
	return 0;
}

void egressfirewall_watch_stop(struct egressfirewall_watch *watch)
{
	if (watch == NULL)
		return;
	for (int i = 0; i < watch->n_watches; i++)
		kube_informer_free(watch->informer[i]);
	kube_client_free(watch->client);
	kube_string_pool_free(watch->texts);
	free(watch);
}

/* Where that kind does not exist (yet), there are no firewalls. */
static bool is_filled(const struct egressfirewall_watch *watch, int which)
{
	return kube_informer_synced(watch->informer[which]) ||
	       (which == FIREWALLS && kube_informer_absent(watch->informer[which]));
}

bool egressfirewall_watch_is_filled(const struct egressfirewall_watch *watch)
{
	for (int i = 0; i < watch->n_watches; i++) {
		if (!is_filled(watch, i))
			return false;
	}
	return true;
}

/* Signals are handled when the start, or the reload, is over; until then they are pending here. */
static bool is_to_end(void)
{
	sigset_t pending;
	return sigpending(&pending) == 0 &&
	       (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1 ||
		sigismember(&pending, SIGQUIT) == 1);
}

int egressfirewall_watch_wait(struct egressfirewall_watch *watch, uint64_t timeout_ns)
{
	static const uint64_t step_ns = 20 * NS_PER_MS;
	uint64_t end_ns = clock_mono_ns() + timeout_ns;
	while (!egressfirewall_watch_is_filled(watch)) {
		if (is_to_end())
			return -EINTR;
		if (clock_mono_ns() >= end_ns) {
			log_warn(
				AREA,
				"the API server does not answer: starting without knowing pods and "
				"EgressFirewalls, and holding no answer until it does");
			return 0;
		}
		for (int i = 0; i < watch->n_watches; i++)
			IGNORE(kube_informer_wait(watch->informer[i],
						  step_ns)); /* asked again above */
	}
	return 0;
}
