/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads ConfigMaps from the watch's copy or the API server; applies and deletes them. */
#include "controller/dnsoperator/configmaps.h"

#include <stdlib.h>
#include <string.h>

#include "api/kind.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "controller/dnsoperator/pass.h"
#include "controller/dnsoperator/plan/configmap_objects.h"
#include "kube/decode/tree.h"

enum {
	NOT_WATCHED_S = 60
}; /* between two reads of what a watch does not show, for lack of rights */

static struct own_write *write_of(struct controller_ctx *ctx, const char *ns, const char *name)
{
	struct dnsoperator_state *state = ctx->state;
	return own_write_of(&state->own_writes, "ConfigMap", ns, name);
}

int dnsoperator_configmap_read(struct controller_ctx *ctx, int watch, const char *ns,
			       const char *name, json_t **ret)
{
	CLEANUP(freep) char *path = xasprintf("/api/v1/namespaces/%s/configmaps/%s", ns, name);
	struct own_write *write = write_of(ctx, ns, name);
	struct kube_obj *copy = kube_store_get(ctx->stores[watch], slice_of(ns), slice_of(name));
	const char *copy_rv = copy != NULL ? copy->rv : NULL;
	int r = 0;
	if (own_write_shown(write, copy_rv)) {
		/* other threads read the tree, too: no references to it */
		*ret = copy != NULL ? json_deep_copy(kube_tree_of(copy)) : NULL;
	} else {
		r = dnsoperator_get(ctx, path, name, ret);
		if (r >= 0)
			own_write_note(write, *ret != NULL ? api_resource_version(*ret) : NULL,
				       copy_rv);
		if (*ret != NULL && copy == NULL)
			dnsoperator_requeue_after(ctx, NOT_WATCHED_S * NS_PER_S);
	}
	kube_obj_unref(copy);
	return r;
}

static uint64_t hash_of(const json_t *object)
{
	char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
	uint64_t hash = hash_bytes(hash_process_key(), text, strlen(text));
	free(text);
	return hash;
}

int dnsoperator_configmap_apply(struct controller_ctx *ctx, const json_t *wanted, json_t **ret)
{
	struct kube_ref ref = { .kind = api_kind_find("", "ConfigMap"),
				.ns = api_namespace(wanted),
				.name = api_name(wanted) };
	struct own_write *write = write_of(ctx, ref.ns, ref.name);
	struct kube_status st = { 0 };
	json_t *now = NULL;
	uint64_t wait = own_write_repair(write, hash_of(wanted), clock_mono_ns());
	if (ret != NULL)
		*ret = NULL;
	if (wait != 0) {
		dnsoperator_requeue_after(ctx, wait);
		return 0;
	}
	int r = kube_apply(ctx->conn, &ref, NULL, DNSOPERATOR_MANAGER, wanted, &now, &st);
	if (r < 0) {
		r = dnsoperator_set_error(ctx, r, ref.name, &st);
		own_write_failed(write);
	} else {
		own_write_note(write, api_resource_version(now), NULL);
	}
	kube_status_done(&st);
	if (r >= 0 && ret != NULL)
		*ret = TAKE_PTR(now);
	json_decref(now);
	return r < 0 ? r : 1;
}

bool dnsoperator_configmap_contested(struct controller_ctx *ctx, const json_t *wanted, bool right)
{
	struct own_write *write = write_of(ctx, api_namespace(wanted), api_name(wanted));
	uint64_t wait = right ? own_write_quiet(write, clock_mono_ns()) : 0;
	if (wait != 0)
		dnsoperator_requeue_after(ctx, wait);
	return write->contested;
}

int dnsoperator_configmap_delete(struct controller_ctx *ctx, const json_t *object)
{
	struct kube_ref ref = { .kind = api_kind_find("", "ConfigMap"),
				.ns = api_namespace(object),
				.name = api_name(object) };
	struct kube_delete_opts opts = { .uid = api_uid(object),
					 .resource_version = api_resource_version(object) };
	struct kube_status st = { 0 };
	int r = kube_delete(ctx->conn, &ref, &opts, &st);
	if (r == ERR_NOTFOUND)
		r = 0;
	if (r < 0)
		r = dnsoperator_set_error(ctx, r, ref.name, &st);
	else
		own_write_note(write_of(ctx, ref.ns, ref.name), NULL, opts.resource_version);
	kube_status_done(&st);
	return r;
}
