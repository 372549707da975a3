/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The client for lookups as a part of an engine: made by the first lookup, shared by all. */
#include "controller/engine_lookups.h"

#include <stdlib.h>

#include "base/mem.h"
#include "controller/engine_priv.h"
#include "resolve/lookup.h"

struct lookups {
	struct engine_part part;
	struct lookup_client *client;
};

static void free_lookups(struct engine_part *part)
{
	struct lookups *lookups = CONTAINER_OF(part, struct lookups, part);
	lookup_client_free(lookups->client);
	free(lookups);
}

static const struct engine_part_kind lookups_kind = { free_lookups };

struct lookup_client *engine_lookups(struct engine *engine)
{
	struct engine_part *part = engine_find_part(engine, &lookups_kind);
	struct lookup_conf conf = { .loop = engine_loop(engine) };
	conf.servers = engine_dns_servers(engine, &conf.n_servers);
	if (part == NULL && conf.n_servers != 0) {
		struct lookups *lookups = xcalloc(1, sizeof(*lookups));
		lookups->client = lookup_client_new(&conf);
		engine_add_part(engine, &lookups_kind, &lookups->part);
		part = &lookups->part;
	}
	return part != NULL ? CONTAINER_OF(part, struct lookups, part)->client : NULL;
}
