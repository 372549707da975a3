/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses the ConfigMap's list once for each version of it. */
#include "controller/poddns/entries_cache.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "controller/controller.h"
#include "controller/poddns/policy.h"
#include "controller/poddns/state.h"
#include "controller/poddns/watches.h"
#include "kube/decode/tree.h"

static struct poddns_entries_cache *cache_of(const struct controller_ctx *ctx)
{
	struct poddns_state *state = ctx->state;
	return &state->entries;
}

static struct kube_obj *newest_map(const struct controller_ctx *ctx,
				   char ret_version[PODDNS_VERSION_MAX])
{
	struct kube_obj *map = kube_store_get(ctx->stores[PODDNS_WATCH_POLICIES], slice_of(ctx->ns),
					      SLICE(PODDNS_CONFIGMAP_NAME));
	ret_version[0] = '\0';
	if (map != NULL)
		snprintf(ret_version, PODDNS_VERSION_MAX, "%s %s", api_uid(kube_tree_of(map)),
			 api_resource_version(kube_tree_of(map)));
	return map;
}

/* ---- parsing; the cache is locked before and after ---- */

static void begin_parsing(struct poddns_entries_cache *cache, const char *version)
{
	assert(!cache->is_parsing);
	cache->is_parsing = true;
	snprintf(cache->parsing, sizeof(cache->parsing), "%s", version);
}

/* Parses without the lock. */
static void parse_map(struct poddns_entries_cache *cache, const struct kube_obj *map)
{
	assert(cache->is_parsing);
	pthread_mutex_unlock(&cache->lock);
	struct poddns_entries *parsed =
		map != NULL ? poddns_entries_parse(slice_of(api_get_string(
				      kube_tree_of(map), "data[" PODDNS_CONFIGMAP_KEY "]")))
			    : NULL;
	pthread_mutex_lock(&cache->lock);
	poddns_entries_unref(cache->current);
	cache->current = parsed;
	memcpy(cache->version, cache->parsing, sizeof(cache->version));
	cache->is_known = true;
	cache->is_parsing = false;
	pthread_cond_broadcast(&cache->parsed);
}

static void *run_thread(void *arg)
{
	struct poddns_entries_cache *cache = arg;
	pthread_mutex_lock(&cache->lock);
	while (cache->next != NULL) {
		while (cache->is_parsing)
			pthread_cond_wait(&cache->parsed, &cache->lock);
		struct kube_obj *map = TAKE_PTR(cache->next);
		if (strcmp(cache->version, cache->next_version) != 0) {
			begin_parsing(cache, cache->next_version);
			parse_map(cache, map);
		}
		kube_obj_unref(map);
	}
	cache->is_running = false;
	pthread_mutex_unlock(&cache->lock);
	return NULL;
}

/* Where there is no thread to be had, whoever needs the list parses it. */
static void start_thread(struct poddns_entries_cache *cache)
{
	if (cache->is_running)
		return;
	if (cache->has_thread)
		pthread_join(cache->thread, NULL); /* it has only to return */
	cache->has_thread = pthread_create(&cache->thread, NULL, run_thread, cache) == 0;
	cache->is_running = cache->has_thread;
}

void poddns_entries_cache_prepare(const struct controller_ctx *ctx)
{
	struct poddns_entries_cache *cache = cache_of(ctx);
	char version[PODDNS_VERSION_MAX];
	struct kube_obj *map = newest_map(ctx, version);
	pthread_mutex_lock(&cache->lock);
	const char *known = cache->is_parsing ? cache->parsing : cache->version;
	if (map != NULL && strcmp(known, version) != 0) {
		kube_obj_unref(cache->next);
		cache->next = kube_obj_ref(map);
		memcpy(cache->next_version, version, sizeof(cache->next_version));
		start_thread(cache);
	}
	pthread_mutex_unlock(&cache->lock);
	kube_obj_unref(map);
}

/* ---- reading ---- */

/* Whether what the cache has will do for who wants this version. */
static bool is_enough(const struct poddns_entries_cache *cache, const char *version,
		      enum poddns_freshness freshness)
{
	if (!cache->is_known)
		return false;
	return strcmp(cache->version, version) == 0 ||
	       (freshness == PODDNS_MAY_BE_OLD && (cache->is_parsing || cache->is_running));
}

struct poddns_entries *poddns_entries_cache_get(const struct controller_ctx *ctx,
						enum poddns_freshness freshness)
{
	struct poddns_entries_cache *cache = cache_of(ctx);
	char version[PODDNS_VERSION_MAX];
	pthread_mutex_lock(&cache->lock);
	struct kube_obj *map = newest_map(ctx, version);
	while (!is_enough(cache, version, freshness)) {
		if (cache->is_parsing) {
			pthread_cond_wait(&cache->parsed, &cache->lock);
			kube_obj_unref(map);
			map = newest_map(ctx, version);
		} else {
			begin_parsing(cache, version);
			parse_map(cache, map);
		}
	}
	struct poddns_entries *entries = poddns_entries_ref(cache->current);
	pthread_mutex_unlock(&cache->lock);
	kube_obj_unref(map);
	return entries;
}

void poddns_entries_cache_init(struct poddns_entries_cache *cache)
{
	*cache = (struct poddns_entries_cache){ 0 };
	pthread_mutex_init(&cache->lock, NULL);
	pthread_cond_init(&cache->parsed, NULL);
}

void poddns_entries_cache_done(struct poddns_entries_cache *cache)
{
	if (cache->has_thread)
		pthread_join(cache->thread, NULL);
	poddns_entries_unref(cache->current);
	kube_obj_unref(cache->next);
	pthread_cond_destroy(&cache->parsed);
	pthread_mutex_destroy(&cache->lock);
}
