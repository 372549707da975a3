/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keeps a record of our own writes. Workers share it. */
#include "controller/example/drift.h"

#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/slice.h"
#include "controller/example/state.h"

/* Under the lock. */
static struct own_write *write_of(struct example_state *state, const char *ns)
{
	return own_write_of(&state->writes, "ConfigMap", ns, EXAMPLE_COPY_NAME);
}

static uint64_t hash_text(const char *text, size_t len)
{
	return hash_bytes(hash_process_key(), text, len);
}

/* Of a tree; the order of an object's members does not count. */
static uint64_t hash_of(const json_t *value)
{
	uint64_t hash = (uint64_t)json_typeof(value);
	const char *name;
	json_t *member;
	size_t i;
	if (json_is_string(value))
		return hash_text(api_text(value), json_string_length(value));
	json_array_foreach (value, i, member)
		hash = hash * 31 + hash_of(member);
	json_object_foreach (api_tree(value), name, member) {
		uint64_t both[] = { hash_text(name, strlen(name)), hash_of(member) };
		hash += hash_text((const char *)both, sizeof(both));
	}
	return json_is_integer(value) ? hash + (uint64_t)json_integer_value(value) : hash;
}

bool example_drift_is_outdated(const struct controller_ctx *ctx, const char *ns,
			       const char *version)
{
	struct example_state *state = ctx->state;
	pthread_mutex_lock(&state->lock);
	const struct own_write *write = write_of(state, ns);
	bool outdated = write->known && !own_write_shown(write, version);
	pthread_mutex_unlock(&state->lock);
	return outdated;
}

void example_drift_begin(const struct controller_ctx *ctx, const char *ns)
{
	struct example_state *state = ctx->state;
	pthread_mutex_lock(&state->lock);
	own_write_begin(write_of(state, ns));
	pthread_mutex_unlock(&state->lock);
}

bool example_drift_is_echo(const struct controller_ctx *ctx, const char *ns)
{
	struct example_state *state = ctx->state;
	struct kube_obj *copy =
		kube_store_get(ctx->stores[EXAMPLE_COPIES], slice_of(ns), SLICE(EXAMPLE_COPY_NAME));
	if (copy == NULL)
		return false;
	pthread_mutex_lock(&state->lock);
	bool echo = own_write_is_echo(write_of(state, ns), copy->rv);
	pthread_mutex_unlock(&state->lock);
	kube_obj_unref(copy);
	return echo;
}

uint64_t example_drift_delay(const struct controller_ctx *ctx, const char *ns, const json_t *wanted)
{
	struct example_state *state = ctx->state;
	uint64_t hash = hash_of(wanted);
	pthread_mutex_lock(&state->lock);
	uint64_t delay = own_write_repair(write_of(state, ns), hash, clock_mono_ns());
	pthread_mutex_unlock(&state->lock);
	return delay;
}

void example_drift_applied(const struct controller_ctx *ctx, const char *ns, const json_t *made)
{
	struct example_state *state = ctx->state;
	pthread_mutex_lock(&state->lock);
	struct own_write *write = write_of(state, ns);
	if (made != NULL)
		own_write_note(write, api_resource_version(made), NULL);
	else
		own_write_failed(write);
	pthread_mutex_unlock(&state->lock);
}

void example_drift_forget(const struct controller_ctx *ctx, const char *ns)
{
	struct example_state *state = ctx->state;
	pthread_mutex_lock(&state->lock);
	own_write_forget(&state->writes, "ConfigMap", ns, EXAMPLE_COPY_NAME);
	pthread_mutex_unlock(&state->lock);
}
