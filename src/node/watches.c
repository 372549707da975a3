/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One informer for each kind. */
#include "node/watches.h"

#include <stdlib.h>

#include "api/egress/name.h"
#include "api/egress/rules.h"
#include "api/egress/unused.h"
#include "api/kind.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "kube/decode/tree.h"
#include "kube/informer/informer.h"
#include "node/machine.h"

#define AREA "node"

struct watched {
	struct node_watches *all;
	struct kube_informer *informer;
};

struct node_watches {
	struct watched watch[NODE_WATCH_COUNT];
	void (*changed)(void *ctx, enum node_watch watch, const struct kube_obj *object);
	void *ctx;
};

static const char *const pod_paths[] = { "metadata.creationTimestamp", "spec.hostNetwork",
					 "status.phase", "status.podIP", "status.podIPs" };
static const char *const firewall_paths[] = { "spec",
					      "metadata.annotations[" EGRESS_DEPTH_ANNOTATION "]" };
static const char *const node_paths[] = { "metadata.labels", "spec.podCIDR", "spec.podCIDRs",
					  "status.addresses" };
static const char *const slice_paths[] = { "endpoints" };
static const char *const name_paths[] = { "spec", "status.items",
					  "metadata.annotations[" EGRESS_DEPTH_ANNOTATION "]",
					  "metadata.annotations[" EGRESS_UNUSED_ANNOTATION "]" };

static const char *const namespace_paths[] = { "metadata.annotations[" EGRESS_UID_ANNOTATION "]",
					       "metadata.annotations[" EGRESS_CGROUP_ANNOTATION "]",
					       "metadata.annotations[" EGRESS_NETNS_ANNOTATION
					       "]" };

#define PATHS(list) .paths = (list), .n_paths = ARRAY_LEN(list)

static const struct {
	const char *group, *kind;
	const char *ns, *labels;
	const char *const *paths;
	size_t n_paths;
	bool is_for_policy;
} kinds[NODE_WATCH_COUNT] = {
	[NODE_WATCH_PODS] = { .group = "", .kind = "Pod", PATHS(pod_paths), .is_for_policy = true },
	[NODE_WATCH_FIREWALLS] = { .group = EGRESS_GROUP,
				   .kind = EGRESS_FIREWALL_KIND,
				   PATHS(firewall_paths),
				   .is_for_policy = true },
	[NODE_WATCH_NODES] = { .group = "",
			       .kind = "Node",
			       PATHS(node_paths),
			       .is_for_policy = true },
	[NODE_WATCH_API] = { .group = "discovery.k8s.io",
			     .kind = "EndpointSlice",
			     .ns = "default",
			     .labels = "kubernetes.io/service-name=kubernetes",
			     PATHS(slice_paths),
			     .is_for_policy = true },
	[NODE_WATCH_NAMES] = { .group = EGRESS_GROUP, .kind = EGRESS_NAME_KIND, PATHS(name_paths) },
	[NODE_WATCH_NAMESPACES] = { .group = "",
				    .kind = "Namespace",
				    PATHS(namespace_paths),
				    .is_for_policy = true },
};

/* ---- handlers ---- */

static void report(void *ctx, const struct kube_obj *object)
{
	const struct watched *watched = ctx;
	struct node_watches *all = watched->all;
	all->changed(all->ctx, (enum node_watch)(watched - all->watch), object);
}

static void on_added(void *ctx, struct kube_obj *object)
{
	report(ctx, object);
}

static void on_updated(void *ctx, struct kube_obj *old UNUSED, struct kube_obj *object)
{
	report(ctx, object);
}

static void on_synced(void *ctx)
{
	report(ctx, NULL);
}

static void on_error(void *ctx UNUSED, const char *text)
{
	log_warn(AREA, "%s", text);
}

/* ---- begin and end ---- */

static int start_watch(struct node_watches *watches, const struct node_watches_conf *conf,
		       enum node_watch number, struct err_text err)
{
	CLEANUP(strbuf_done) struct strbuf fields = STRBUF_INIT;
	const struct api_kind *kind = api_kind_find(kinds[number].group, kinds[number].kind);
	struct watched *watched = &watches->watch[number];
	if (number == NODE_WATCH_PODS)
		strbuf_addf(&fields, "spec.nodeName=%s", conf->node_name);
	watched->all = watches;
	watched->informer = kube_informer_new(&(struct kube_informer_conf){
		.client = conf->client,
		.kind = kind,
		.ns = number == NODE_WATCH_NAMES ? conf->names_ns : kinds[number].ns,
		.labels = kinds[number].labels,
		.fields = fields.n != 0 ? fields.s : NULL,
		.codec = kube_tree_codec(kind, kinds[number].paths, kinds[number].n_paths),
	});
	kube_informer_handle(watched->informer, &(struct kube_handler){ .added = on_added,
									.updated = on_updated,
									.deleted = on_added,
									.synced = on_synced,
									.on_error = on_error,
									.ctx = watched });
	return kube_informer_start(watched->informer, err);
}

int node_watches_start(const struct node_watches_conf *conf, struct node_watches **ret,
		       struct err_text err)
{
	struct node_watches *watches = xcalloc(1, sizeof(*watches));
	watches->changed = conf->changed;
	watches->ctx = conf->ctx;
	int r = 0;
	/* Published before the first thread runs, which may report at once. */
	*ret = watches;
	for (int i = 0; i < NODE_WATCH_COUNT && r == 0; i++) {
		if (i != NODE_WATCH_NAMESPACES || conf->is_machine)
			r = start_watch(watches, conf, (enum node_watch)i, err);
	}
	if (r < 0) {
		node_watches_stop(watches);
		*ret = NULL;
	}
	return r;
}

void node_watches_stop(struct node_watches *watches)
{
	if (watches == NULL)
		return;
	for (int i = 0; i < NODE_WATCH_COUNT; i++)
		kube_informer_free(watches->watch[i].informer);
	free(watches);
}

bool node_watches_are_filled(const struct node_watches *watches)
{
	for (int i = 0; i < NODE_WATCH_COUNT; i++) {
		if (kinds[i].is_for_policy && watches->watch[i].informer != NULL &&
		    !kube_informer_synced(watches->watch[i].informer))
			return false;
	}
	return true;
}

struct kube_store *node_watches_store(const struct node_watches *watches, enum node_watch watch)
{
	return kube_informer_store(watches->watch[watch].informer);
}
