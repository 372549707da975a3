/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looks up both families side by side; the work is complete when both have ended. */
#include "controller/shared/name_lookup.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"

static void end_part(struct name_lookup *whole)
{
	assert(whole->left != 0);
	if (--whole->left == 0)
		engine_complete(&whole->work);
}

static void on_done(struct lookup *lookup)
{
	struct name_lookup_part *part = CONTAINER_OF(lookup, struct name_lookup_part, lookup);
	union net_addr found[NAME_LOOKUP_ADDRESSES_MAX];
	int r = lookup->result;
	if (r == 0)
		r = lookup_addresses(lookup, found, ARRAY_LEN(found), &part->ttl);
	if (r > 0) {
		part->n_addresses = (size_t)r;
		part->addresses = xmemdup(found, (size_t)r * sizeof(*found));
	}
	if (r < 0) {
		part->whole->result = r;
		snprintf(part->whole->error, sizeof(part->whole->error), "%s",
			 lookup->error[0] != '\0' ? lookup->error : err_str(r));
	}
	end_part(part->whole);
}

static void start_lookup(struct engine_work *work)
{
	struct name_lookup *whole = name_lookup_of(work);
	struct lookup_client *client = engine_lookups(work->engine);
	if (client == NULL) {
		whole->result = ERR_CONFIG;
		snprintf(whole->error, sizeof(whole->error), "there is no name server to ask");
		engine_complete(work);
		return;
	}
	whole->left = ARRAY_LEN(whole->part);
	for (size_t i = 0; i < ARRAY_LEN(whole->part); i++)
		lookup_start(client, &whole->part[i].lookup);
}

static void cancel_lookup(struct engine_work *work)
{
	struct name_lookup *whole = name_lookup_of(work);
	for (size_t i = 0; i < ARRAY_LEN(whole->part); i++)
		lookup_cancel(&whole->part[i].lookup);
}

static void free_lookup(struct engine_work *work)
{
	struct name_lookup *whole = name_lookup_of(work);
	for (size_t i = 0; i < ARRAY_LEN(whole->part); i++)
		free(whole->part[i].addresses);
	free(whole);
}

struct name_lookup *name_lookup_new(const char *name)
{
	static const struct engine_work_ops ops = { start_lookup, cancel_lookup, free_lookup };
	static const uint16_t types[] = { DNS_TYPE_A, DNS_TYPE_AAAA };
	struct name_lookup *whole = xcalloc(1, sizeof(*whole));
	whole->work.ops = &ops;
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		struct name_lookup_part *part = &whole->part[i];
		part->whole = whole;
		part->lookup.type = types[i];
		part->lookup.done = on_done;
		if (dns_name_from_text(slice_of(name), part->lookup.name) < 0) {
			free(whole);
			return NULL;
		}
	}
	return whole;
}

uint32_t name_lookup_ttl(const struct name_lookup *lookup)
{
	return MIN(lookup->part[0].ttl, lookup->part[1].ttl);
}
