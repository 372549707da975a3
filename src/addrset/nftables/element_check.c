/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel's elements by their keys; what a known pair accounts for is taken out, and the rest is surplus. */
#include "addrset/nftables/element_check.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"

enum { TOLERANCE_MS = 1000 }; /* of an element's time, which the kernel counts in ticks */

struct nftables_element nftables_element_of(const struct addrset_known *pair)
{
	struct nftables_element element = { .n_key = ADDRSET_ID_BYTES + pair->address.n };
	memcpy(element.key, pair->name.bytes, ADDRSET_ID_BYTES);
	memcpy(element.key + ADDRSET_ID_BYTES, pair->address.bytes, pair->address.n);
	return element;
}

bool nftables_element_is_probe(const struct nftables_element *element)
{
	static const uint8_t zero[ADDRSET_ID_BYTES];
	return memcmp(element->key, zero, sizeof(zero)) == 0;
}

static struct slice key_of(const struct nftables_element *element)
{
	return (struct slice){ (const char *)element->key, element->n_key };
}

/* ---- the kernel's ---- */

static void free_elements(struct map *elements)
{
	size_t pos = 0;
	const struct map_entry *entry;
	while ((entry = map_next(elements, &pos)) != NULL)
		free(entry->value);
	map_done(elements);
}

static void restart_elements(void *ctx)
{
	free_elements(ctx);
	map_init(ctx);
}

static void take_element(void *ctx, const struct nftables_element *element)
{
	if (!nftables_element_is_probe(element))
		free(map_set(ctx, key_of(element), xmemdup(element, sizeof(*element))));
}

/* ---- compared ---- */

static bool has_right_time(const struct nftables_element *element, uint64_t wanted_ms)
{
	return element->timeout_ms >= wanted_ms && /* 0: it lives for ever */
	       element->timeout_ms <= wanted_ms + NFTABLES_SLACK_MS + TOLERANCE_MS;
}

static void check_pair(struct addrset_known *pair, uint64_t now, struct map *elements,
		       struct nftables_element_faults *faults)
{
	struct nftables_element wanted = nftables_element_of(pair);
	const struct nftables_element *found = map_get(elements, key_of(&wanted));
	uint64_t wanted_ms = (addrset_known_until(pair) - now) / NS_PER_MS + 1;
	if (found != NULL && has_right_time(found, wanted_ms))
		free(map_del(elements, key_of(&wanted)));
	else
		vec_push(&faults->missing, pair);
}

static void check_known(const struct addrset_known_table *known, uint8_t n_address, uint64_t now,
			struct map *elements, struct nftables_element_faults *faults)
{
	size_t pos = 0;
	struct rcutable_node *node = rcutable_walk(&known->pairs, &pos, NULL);
	for (; node != NULL; node = rcutable_walk(&known->pairs, &pos, node)) {
		struct addrset_known *pair = CONTAINER_OF(node, struct addrset_known, node);
		struct addrset_pair held = { pair->name, pair->address, now + NS_PER_MS };
		if (pair->address.n == n_address && addrset_known_holds(known, &held))
			check_pair(pair, now, elements, faults);
	}
}

/* One that ends by itself in a moment was a pair's whose time is over. */
static void take_surplus(const struct map *elements, struct nftables_element_faults *faults)
{
	size_t pos = 0;
	const struct map_entry *entry;
	while ((entry = map_next(elements, &pos)) != NULL) {
		const struct nftables_element *element = entry->value;
		if (element->timeout_ms == 0 ||
		    element->timeout_ms > NFTABLES_SLACK_MS + TOLERANCE_MS)
			vec_push(&faults->surplus, *element);
	}
}

int nftables_element_check(struct nftables_link *link, const char *set,
			   const struct addrset_known_table *known, uint8_t n_address,
			   struct nftables_element_faults *ret)
{
	struct map elements;
	map_init(&elements);
	memset(ret, 0, sizeof(*ret));
	uint64_t now = clock_mono_ns();
	int r = nftables_elements_read(link, set, restart_elements, take_element, &elements);
	if (r >= 0) {
		check_known(known, n_address, now, &elements, ret);
		take_surplus(&elements, ret);
	}
	free_elements(&elements);
	return r < 0 ? r : 0;
}

void nftables_element_faults_done(struct nftables_element_faults *faults)
{
	vec_done(&faults->surplus);
	vec_done(&faults->missing);
}
