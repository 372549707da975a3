/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A table of what is remembered, and settings. */
#include "controller/dnsrecord/state.h"

#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/mem.h"
#include "controller/dnsrecord/rivals.h"
#include "provider/provider.h"

enum { PROBE_S = 600, NOTIFIED_SERIALS_S = 600, UNSERVED_TYPES_MAX = 64, SPREAD_PARTS = 4096 };

int dnsrecord_state_start(void **ret_state, struct err_text err)
{
	struct dnsrecord_state *state = xcalloc(1, sizeof(*state));
	(void)err;
	pthread_mutex_init(&state->lock, NULL);
	map_init(&state->by_key);
	map_init(&state->probes);
	map_init(&state->dry_runs);
	map_init(&state->unserved);
	rng_init(&state->rng);
	dnsrecord_wave_init(&state->wave);
	dnsrecord_zone_table_init(&state->zones);
	dnsrecord_kept_init(&state->kept);
	state->rivals = dnsrecord_rivals_new();
	*ret_state = state;
	return 0;
}

static void free_probe(struct dnsrecord_probe *probe)
{
	if (probe == NULL)
		return;
	free(probe->answer);
	free(probe);
}

static void free_dry_run(struct dnsrecord_dry_run *run)
{
	if (run == NULL)
		return;
	json_decref(run->report);
	free(run);
}

void dnsrecord_state_stop(void *state)
{
	struct dnsrecord_state *of = state;
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(&of->by_key, &pos)) != NULL)
		free(entry->value);
	map_done(&of->by_key);
	pos = 0;
	while ((entry = map_next(&of->probes, &pos)) != NULL)
		free_probe(entry->value);
	map_done(&of->probes);
	pos = 0;
	while ((entry = map_next(&of->dry_runs, &pos)) != NULL)
		free_dry_run(entry->value);
	map_done(&of->dry_runs);
	map_done(&of->unserved);
	dnsrecord_wave_done(&of->wave);
	dnsrecord_zone_table_done(&of->zones);
	dnsrecord_kept_done(&of->kept);
	dnsrecord_rivals_free(of->rivals);
	pthread_mutex_destroy(&of->lock);
	free(of);
}

bool dnsrecord_is_new_type(const struct controller_ctx *ctx, const char *type)
{
	struct dnsrecord_state *state = ctx->state;
	pthread_mutex_lock(&state->lock);
	bool is_new = state->unserved.n < UNSERVED_TYPES_MAX &&
		      map_get(&state->unserved, slice_of(type)) == NULL;
	if (is_new)
		map_set(&state->unserved, slice_of(type), state);
	pthread_mutex_unlock(&state->lock);
	return is_new;
}

struct dnsrecord_memory dnsrecord_recall(const struct controller_ctx *ctx, const char *key)
{
	struct dnsrecord_state *state = ctx->state;
	pthread_mutex_lock(&state->lock);
	const struct dnsrecord_memory *found = map_get(&state->by_key, slice_of(key));
	struct dnsrecord_memory memory = found != NULL ? *found : (struct dnsrecord_memory){ 0 };
	pthread_mutex_unlock(&state->lock);
	return memory;
}

void dnsrecord_remember(const struct controller_ctx *ctx, const char *key,
			const struct dnsrecord_memory *memory)
{
	struct dnsrecord_state *state = ctx->state;
	pthread_mutex_lock(&state->lock);
	struct dnsrecord_memory *found = map_get(&state->by_key, slice_of(key));
	if (found == NULL) {
		found = xcalloc(1, sizeof(*found));
		map_set(&state->by_key, slice_of(key), found);
	}
	*found = *memory;
	pthread_mutex_unlock(&state->lock);
}

void dnsrecord_forget(const struct controller_ctx *ctx, const char *key)
{
	struct dnsrecord_state *state = ctx->state;
	pthread_mutex_lock(&state->lock);
	free(map_del(&state->by_key, slice_of(key)));
	pthread_mutex_unlock(&state->lock);
}

/* ---- probes ---- */

struct dnsrecord_probe *dnsrecord_probe_of(const struct controller_ctx *ctx, const char *key)
{
	struct dnsrecord_state *state = ctx->state;
	pthread_mutex_lock(&state->lock);
	struct dnsrecord_probe *found = map_get(&state->probes, slice_of(key));
	if (found == NULL) {
		found = xcalloc(1, sizeof(*found));
		map_set(&state->probes, slice_of(key), found);
	}
	pthread_mutex_unlock(&state->lock);
	return found;
}

void dnsrecord_probe_drop(const struct controller_ctx *ctx, const char *key)
{
	struct dnsrecord_state *state = ctx->state;
	pthread_mutex_lock(&state->lock);
	free_probe(map_del(&state->probes, slice_of(key)));
	pthread_mutex_unlock(&state->lock);
}

struct dnsrecord_dry_run *dnsrecord_dry_run_of(const struct controller_ctx *ctx, const char *key)
{
	struct dnsrecord_state *state = ctx->state;
	pthread_mutex_lock(&state->lock);
	struct dnsrecord_dry_run *found = map_get(&state->dry_runs, slice_of(key));
	if (found == NULL) {
		found = xcalloc(1, sizeof(*found));
		map_set(&state->dry_runs, slice_of(key), found);
	}
	pthread_mutex_unlock(&state->lock);
	return found;
}

void dnsrecord_dry_run_drop(const struct controller_ctx *ctx, const char *key)
{
	struct dnsrecord_state *state = ctx->state;
	pthread_mutex_lock(&state->lock);
	free_dry_run(map_del(&state->dry_runs, slice_of(key)));
	pthread_mutex_unlock(&state->lock);
}

uint64_t dnsrecord_spread(const struct controller_ctx *ctx, uint64_t time_ns)
{
	struct dnsrecord_state *state = ctx->state;
	pthread_mutex_lock(&state->lock);
	uint32_t part = rng_below(&state->rng, SPREAD_PARTS);
	pthread_mutex_unlock(&state->lock);
	return time_ns / SPREAD_PARTS * part;
}

uint64_t dnsrecord_jitter(const struct controller_ctx *ctx, uint64_t time_ns)
{
	return time_ns / 4 * 3 + dnsrecord_spread(ctx, time_ns / 2);
}

/* ---- settings ---- */

/* 0 means the default, since options may be all zeroes. */
static uint64_t choose_probe(uint64_t given_ns)
{
	if (given_ns == CONTROLLER_NO_PROBE)
		return 0;
	return given_ns != 0 ? given_ns : PROBE_S * NS_PER_S;
}

/* A NOTIFY can be lost: with them, too, serials are read now and then. */
static uint64_t choose_serials(const struct controller_options *options)
{
	if (options->dnsrecord_serials_ns == 0 && options->dnsrecord_notify != NULL)
		return NOTIFIED_SERIALS_S * NS_PER_S;
	return options->dnsrecord_serials_ns;
}

struct dnsrecord_settings dnsrecord_settings_of(const struct controller_ctx *ctx)
{
	static const struct controller_options none;
	const struct controller_options *options = ctx->options != NULL ? ctx->options : &none;
	bool is_gardener = options->platform != NULL && strcmp(options->platform, "gardener") == 0;
	return (struct dnsrecord_settings){
		.is_gardener = is_gardener,
		.by_request = is_gardener && !options->dnsrecord_by_generation,
		.any_namespace = is_gardener || options->machine != NULL,
		.is_drop_in = options->dnsrecord_ownership != NULL &&
			      strcmp(options->dnsrecord_ownership, "drop-in") == 0,
		.is_dry_run = options->dnsrecord_dry_run,
		.classes = options->dnsrecord_classes,
		.types = options->dnsrecord_types,
		.probe_ns = choose_probe(options->dnsrecord_probe_ns),
		.serials_ns = choose_serials(options),
		.notify = options->dnsrecord_notify,
	};
}

const struct provider *dnsrecord_find_provider(const struct dnsrecord_settings *settings,
					       const char *type)
{
	const struct provider *provider = provider_find(type);
	struct slice rest = slice_of(settings->types != NULL ? settings->types : "");
	if (provider == NULL || settings->types == NULL)
		return provider != NULL && !provider->caps.is_for_tests ? provider : NULL;
	while (rest.n != 0) {
		if (slice_is(slice_trim(slice_cut(&rest, ',')), type))
			return provider;
	}
	return NULL;
}

#define UNSERVED "no provider here serves the type '"

void dnsrecord_explain_unserved(const char *type, struct strbuf *out)
{
	const char *comma = "";
	strbuf_addf(out, UNSERVED "%.63s'; spec.type can be ", type);
	for (size_t i = 0; provider_list[i] != NULL; i++) {
		if (provider_list[i]->caps.is_for_tests)
			continue;
		strbuf_addf(out, "%s%s", comma, provider_list[i]->type);
		comma = ", ";
	}
}

bool dnsrecord_is_unserved(const struct dnsrecord_settings *settings, const json_t *object)
{
	const char *error = api_get_string(object, "status.lastError.description");
	bool is_unclaimed = api_get(object, "status.lastOperation") == NULL ||
			    strncasecmp(error, UNSERVED, strlen(UNSERVED)) == 0;
	return settings->types == NULL && !settings->is_gardener && is_unclaimed &&
	       dnsrecord_find_provider(settings, api_get_string(object, "spec.type")) == NULL;
}
