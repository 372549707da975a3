/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looks up both families side by side; the work is complete when both have ended. */
#include "controller/shared/name_lookup.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "controller/engine_lookups.h"

enum {
	RECORD_BYTES_MIN = 16
}; /* of an A record in a reply: a pointer, the fixed part, the address */

static void end_part(struct name_lookup *whole)
{
	assert(whole->left != 0);
	if (--whole->left == 0)
		engine_complete(&whole->work);
}

/* Few are sent at a time: what the others wait is not the servers' time. */
static void on_sent(struct lookup *lookup)
{
	engine_begin(&CONTAINER_OF(lookup, struct name_lookup_part, lookup)->whole->work);
}

/* All are of one family. */
static int compare_addresses(const void *left, const void *right)
{
	size_t n, m;
	const uint8_t *left_bytes = net_addr_bytes(left, &n);
	const uint8_t *right_bytes = net_addr_bytes(right, &m);
	assert(n == m);
	return memcmp(left_bytes, right_bytes, n);
}

static size_t sort_addresses(union net_addr *addresses, size_t count)
{
	size_t kept = 0;
	if (count != 0)
		qsort(addresses, count, sizeof(*addresses), compare_addresses);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || compare_addresses(&addresses[kept - 1], &addresses[i]) != 0)
			addresses[kept++] = addresses[i];
	return kept;
}

/* Servers rotate the order of records. All are read and sorted before some are left out, so that
 * the same set always gives the same result. How many there are, or a negative code. */
static int read_reply(struct name_lookup_part *part)
{
	size_t max = part->lookup.reply_len / RECORD_BYTES_MIN + 1;
	CLEANUP(freep) union net_addr *found = xcalloc(max, sizeof(*found));
	int r = lookup_addresses(&part->lookup, found, max, &part->ttl, part->owner);
	if (r <= 0)
		return r;
	size_t n = sort_addresses(found, (size_t)r);
	part->n_addresses = MIN(n, (size_t)NAME_LOOKUP_ADDRESSES_MAX);
	part->addresses = xmemdup(found, part->n_addresses * sizeof(*found));
	return r;
}

static void on_done(struct lookup *lookup)
{
	struct name_lookup_part *part = CONTAINER_OF(lookup, struct name_lookup_part, lookup);
	int r = lookup->result;
	if (r == 0)
		r = read_reply(part);
	part->result = MIN(r, 0);
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
		whole->result = whole->part[0].result = whole->part[1].result = ERR_CONFIG;
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
	whole->work.waits_for_turn = true;
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		struct name_lookup_part *part = &whole->part[i];
		part->whole = whole;
		part->lookup.type = types[i];
		part->lookup.done = on_done;
		part->lookup.sent = on_sent;
		part->result = -ETIMEDOUT; /* until it is answered */
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
