/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the copies of the Namespace and the Cluster. */
#include "controller/dnsrecord/shoot.h"

#include <string.h>

#include "api/meta.h"
#include "controller/dnsrecord/watches.h"
#include "kube/decode/tree.h"

#define FORCE_DELETION "confirmation.gardener.cloud/force-deletion"

static bool is_forced(const json_t *shoot)
{
	const char *text = api_annotation(shoot, FORCE_DELETION);
	return text != NULL &&
	       (strcmp(text, "true") == 0 || strcmp(text, "True") == 0 || strcmp(text, "1") == 0);
}

struct dnsrecord_shoot dnsrecord_shoot_of(const struct controller_ctx *ctx, const char *ns)
{
	struct dnsrecord_shoot shoot = { 0 };
	struct kube_obj *namespace =
		kube_store_get(ctx->stores[DNSRECORD_SHOOT_NAMESPACES], SLICE(""), slice_of(ns));
	struct kube_obj *cluster =
		kube_store_get(ctx->stores[DNSRECORD_CLUSTERS], SLICE(""), slice_of(ns));
	const json_t *tree = cluster != NULL ? api_get(kube_tree_of(cluster), "spec.shoot") : NULL;
	if (namespace != NULL) {
		shoot.is_unknown = cluster == NULL;
		shoot.is_forced = is_forced(tree);
		shoot.has_failed =
			strcmp(api_get_string(tree, "status.lastOperation.state"), "Failed") == 0 &&
			!shoot.is_forced;
	}
	kube_obj_unref(namespace);
	kube_obj_unref(cluster);
	return shoot;
}
