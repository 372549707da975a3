/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A table of the last lookup of each Namespace. */
#include "controller/example/known_addresses.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "controller/example/state.h"

struct known {
	char *name, *addresses;
	uint64_t until_ns;
};

static void known_free(struct known *known)
{
	if (known == NULL)
		return;
	free(known->name);
	free(known->addresses);
	free(known);
}

enum example_known example_known_addresses(const struct controller_ctx *ctx, const char *key,
					   const char *name, struct strbuf *ret,
					   uint64_t *ret_left_ns)
{
	struct example_state *state = ctx->state;
	enum example_known found = EXAMPLE_UNKNOWN;
	uint64_t now = clock_mono_ns();
	pthread_mutex_lock(&state->lock);
	const struct known *known = map_get(&state->addresses, slice_of(key));
	if (known != NULL && strcmp(known->name, name) != 0) {
		found = EXAMPLE_OTHER;
	} else if (known != NULL) {
		strbuf_adds(ret, known->addresses);
		found = now < known->until_ns ? EXAMPLE_CURRENT : EXAMPLE_EXPIRED;
		*ret_left_ns = now < known->until_ns ? known->until_ns - now : 0;
	}
	pthread_mutex_unlock(&state->lock);
	return found;
}

void example_keep_addresses(const struct controller_ctx *ctx, const char *key, const char *name,
			    const char *addresses, uint64_t ttl_ns)
{
	struct example_state *state = ctx->state;
	struct known *known = xcalloc(1, sizeof(*known));
	*known = (struct known){ xstrdup(name), xstrdup(addresses), clock_mono_ns() + ttl_ns };
	pthread_mutex_lock(&state->lock);
	known_free(map_set(&state->addresses, slice_of(key), known));
	pthread_mutex_unlock(&state->lock);
}

void example_forget_addresses(const struct controller_ctx *ctx, const char *key)
{
	struct example_state *state = ctx->state;
	pthread_mutex_lock(&state->lock);
	known_free(map_del(&state->addresses, slice_of(key)));
	pthread_mutex_unlock(&state->lock);
}

void example_known_addresses_done(void *state)
{
	struct example_state *of = state;
	size_t pos = 0;
	const struct map_entry *entry;
	while ((entry = map_next(&of->addresses, &pos)) != NULL)
		known_free(entry->value);
	map_done(&of->addresses);
}
