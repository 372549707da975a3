/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two informers. */
#include "plugin/egressfirewall/hold/watch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "api/egress/rules.h"
#include "api/kind.h"
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

enum { PODS, FIREWALLS, N_WATCHES };

struct egressfirewall_watch {
	struct kube_client *client;
	struct kube_string_pool *texts;
	struct kube_server_memory memory;
	struct kube_informer *informer[N_WATCHES];
	struct egressfirewall_clients *clients;
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

static void log_error_text(void *ctx UNUSED, const char *text)
{
	log_warn(AREA, "%s", text);
}

/* ---- life ---- */

static int start_informer(struct egressfirewall_watch *watch, int which, struct err_text err)
{
	static const char *const firewall_paths[] = {
		"spec", "metadata.annotations[" EGRESS_DEPTH_ANNOTATION "]"
	};
	const struct api_kind *kind = which == PODS
					      ? api_kind_find("", "Pod")
					      : api_kind_find(EGRESS_GROUP, EGRESS_FIREWALL_KIND);
	watch->informer[which] = kube_informer_new(&(struct kube_informer_conf){
		.client = watch->client,
		.kind = kind,
		.memory = &watch->memory,
		.codec = which == PODS
				 ? kube_pod_node_codec(watch->texts)
				 : kube_tree_codec(kind, firewall_paths, ARRAY_LEN(firewall_paths)),
	});
	struct kube_handler handler = { .added = firewall_set,
					.updated = firewall_updated,
					.deleted = firewall_deleted,
					.on_error = log_error_text,
					.ctx = watch };
	if (which == PODS) {
		handler.added = pod_added;
		handler.updated = pod_updated;
		handler.deleted = pod_deleted;
	}
	kube_informer_handle(watch->informer[which], &handler);
	return kube_informer_start(watch->informer[which], err);
}

int egressfirewall_watch_start(struct kube_config *config, struct egressfirewall_clients *clients,
			       struct egressfirewall_watch **ret, struct err_text err)
{
	struct egressfirewall_watch *watch = xcalloc(1, sizeof(*watch));
	watch->clients = clients;
	watch->client = kube_client_new(config);
	watch->texts = kube_string_pool_new();
	int r = 0;
	for (int i = 0; i < N_WATCHES && r == 0; i++)
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
	for (int i = 0; i < N_WATCHES; i++)
		kube_informer_free(watch->informer[i]);
	kube_client_free(watch->client);
	kube_string_pool_free(watch->texts);
	free(watch);
}

/* Where the kind does not exist (yet), there are no firewalls. */
static bool is_filled(const struct egressfirewall_watch *watch, int which)
{
	return kube_informer_synced(watch->informer[which]) ||
	       (which == FIREWALLS && kube_informer_absent(watch->informer[which]));
}

bool egressfirewall_watch_is_filled(const struct egressfirewall_watch *watch)
{
	return is_filled(watch, PODS) && is_filled(watch, FIREWALLS);
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
		for (int i = 0; i < N_WATCHES; i++)
			IGNORE(kube_informer_wait(watch->informer[i],
						  step_ns)); /* asked again above */
	}
	return 0;
}
