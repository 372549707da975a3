/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which objects are watched, and which keys a change of one queues. On Gardener also what is known of a
 * shoot: the label of its namespace, and its Cluster (DR-53). */
#include "controller/dnsrecord/watches.h"

#include <stdio.h>
#include <string.h>

#include "api/kind.h"
#include "api/meta.h"
#include "controller/dnsrecord/rivals.h"
#include "controller/dnsrecord/state.h"
#include "kube/decode/packed.h"

static void write_key(const struct kube_obj *object, char out[DNSRECORD_KEY_MAX])
{
	snprintf(out, DNSRECORD_KEY_MAX, "%s/%s", object->ns, object->name);
}

void dnsrecord_name_key(const char *name, char out[DNSRECORD_KEY_MAX])
{
	size_t n = strnlen(name, DNSRECORD_KEY_MAX - 1);
	if (n != 0 && name[n - 1] == '.')
		n--;
	for (size_t i = 0; i < n; i++)
		out[i] = ascii_lower(name[i]);
	out[n] = '\0';
}

static void index_by_name(const struct kube_obj *object, kube_index_emit emit, void *ctx)
{
	char key[DNSRECORD_KEY_MAX];
	json_t *tree = kube_packed_unpack(object);
	dnsrecord_name_key(api_get_string(tree, "spec.name"), key);
	json_decref(tree);
	if (key[0] != '\0')
		emit(ctx, slice_of(key));
}

/* Secrets of its own namespace, as "namespace/name": the one in the spec, and the one that is held for it. */
static void index_by_secret(const struct kube_obj *object, kube_index_emit emit, void *ctx)
{
	char key[DNSRECORD_KEY_MAX];
	json_t *tree = kube_packed_unpack(object);
	const char *name = api_get_string(tree, "spec.secretRef.name");
	const char *ns = api_get_string(tree, "spec.secretRef.namespace");
	const char *held = api_get_string(tree, "status.state.secret");
	bool is_own = ns[0] == '\0' || strcmp(ns, object->ns) == 0;
	if (is_own && name[0] != '\0') {
		snprintf(key, sizeof(key), "%s/%s", object->ns, name);
		emit(ctx, slice_of(key));
	}
	if (held[0] != '\0' && !(is_own && strcmp(held, name) == 0)) {
		snprintf(key, sizeof(key), "%s/%s", object->ns, held);
		emit(ctx, slice_of(key));
	}
	json_decref(tree);
}

struct emit_keys {
	controller_emit emit;
	void *arg;
	const char *ns; /* NULL: of any namespace */
};

static bool emit_key(void *ctx, struct kube_obj *object)
{
	const struct emit_keys *keys = ctx;
	char key[DNSRECORD_KEY_MAX];
	if (keys->ns == NULL || strcmp(keys->ns, object->ns) == 0) {
		write_key(object, key);
		keys->emit(keys->arg, key);
	}
	return true;
}

/* An object that this controller has not seen through: its record set will be sent soon. */
static bool is_new(const struct controller_ctx *ctx, const json_t *tree)
{
	struct dnsrecord_settings settings = dnsrecord_settings_of(ctx);
	return api_get_string(tree, "status.lastOperation.state")[0] == '\0' &&
	       dnsrecord_find_provider(&settings, api_get_string(tree, "spec.type")) != NULL;
}

/* Its own key, and those of objects that want the same name: one of them may have it now. */
static void keys_of_record(const struct controller_ctx *ctx, const struct kube_obj *object,
			   controller_emit emit, void *arg)
{
	struct emit_keys keys = { emit, arg, NULL };
	char name[DNSRECORD_KEY_MAX], key[DNSRECORD_KEY_MAX];
	json_t *tree = kube_packed_unpack(object);
	write_key(object, key);
	dnsrecord_wave_expect(dnsrecord_wave_of(ctx), key, is_new(ctx, tree));
	dnsrecord_name_key(api_get_string(tree, "spec.name"), name);
	json_decref(tree);
	emit(arg, key);
	controller_each_by(ctx, DNSRECORD_RECORDS, DNSRECORD_BY_NAME, slice_of(name), emit_key,
			   &keys);
}

/* The objects of a namespace that is called as the Cluster, or the Namespace. */
static void keys_of_namespace(const struct controller_ctx *ctx, const struct kube_obj *object,
			      controller_emit emit, void *arg)
{
	struct emit_keys keys = { emit, arg, object->name };
	kube_store_each(ctx->stores[DNSRECORD_RECORDS], emit_key, &keys);
}

void dnsrecord_queue_records(const struct controller_ctx *ctx)
{
	struct emit_keys keys = { ctx->emit, ctx->emit_arg, NULL };
	kube_store_each(ctx->stores[DNSRECORD_RECORDS], emit_key, &keys);
}

/* Our own says nothing. */
static void keys_of_heartbeat(const struct controller_ctx *ctx, const struct kube_obj *object,
			      controller_emit emit, void *arg)
{
	if (strcmp(object->ns, ctx->ns) != 0)
		emit(arg, DNSRECORD_RIVALS_KEY);
}

/* As text: ten thousand trees would take 100 MB. */
static struct kube_codec *make_record_codec(struct kube_string_pool *pool)
{
	(void)pool;
	return kube_packed_codec(api_kind_find("extensions.gardener.cloud", "DNSRecord"), NULL, 0);
}

static const kube_index_fn record_indexes[] = {
	[DNSRECORD_BY_NAME] = index_by_name, [DNSRECORD_BY_SECRET] = index_by_secret
};
static const char *const cluster_paths[] = { "spec.shoot.metadata.annotations",
					     "spec.shoot.status.lastOperation", NULL };
static const char *const heartbeat_paths[] = { "spec.holderIdentity", "spec.leaseDurationSeconds",
					       "spec.renewTime", NULL };
static const char *const namespace_paths[] = { "metadata.labels", NULL };

const struct controller_watch dnsrecord_watches[DNSRECORD_WATCHES] = {
	[DNSRECORD_RECORDS] = { "extensions.gardener.cloud", "DNSRecord",
				.codec = make_record_codec, .indexes = record_indexes,
				.n_indexes = ARRAY_LEN(record_indexes), .keys = keys_of_record },
	[DNSRECORD_SHOOT_NAMESPACES] = { "", "Namespace", .labels = "gardener.cloud/role=shoot",
					 .paths = namespace_paths, .optional = true,
					 .keys = keys_of_namespace },
	[DNSRECORD_CLUSTERS] = { "extensions.gardener.cloud", "Cluster", .paths = cluster_paths,
				 .optional = true, .keys = keys_of_namespace },
	[DNSRECORD_HEARTBEATS] = { "coordination.k8s.io", "Lease", .optional = true,
				   .fields = "metadata.name=" DNSRECORD_HEARTBEAT,
				   .paths = heartbeat_paths, .keys = keys_of_heartbeat },
};
