/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The set of zones: a hash table of zone names, asked with the suffixes of a name. */
#include "dns/zone/zoneset.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

struct zone_node {
	uint32_t hash;
	uint32_t first, last; /* entry index + 1; first 0: free slot */
	uint8_t len;
	uint8_t *name;
};

struct dns_zoneset {
	struct zone_node *node;
	size_t n_slots; /* power of two */
	size_t n_zones;
	uint64_t depths[2]; /* bit d: some zone has d labels */
	uint64_t tops
		[4]; /* a bit by the hash of each zone's last label: most names have none of them */
	uint32_t root; /* entry index + 1 of the root zone; 0: none */
	VEC(struct dns_zone_entry) entry;
};

struct dns_zoneset *dns_zoneset_new(void)
{
	struct dns_zoneset *zs = xcalloc(1, sizeof(*zs));
	zs->n_slots = 16;
	zs->node = xcalloc(zs->n_slots, sizeof(*zs->node));
	return zs;
}

void dns_zoneset_free(struct dns_zoneset *zs)
{
	if (zs == NULL)
		return;
	for (size_t i = 0; i < zs->n_slots; i++)
		free(zs->node[i].name);
	free(zs->node);
	vec_done(&zs->entry);
	free(zs);
}

static struct zone_node *find_slot(const struct dns_zoneset *zs, uint32_t hash, const uint8_t *name,
				   size_t len)
{
	size_t mask = zs->n_slots - 1;
	size_t i = hash & mask;
	for (; zs->node[i].first != 0; i = (i + 1) & mask) {
		const struct zone_node *z = &zs->node[i];
		if (z->hash == hash && z->len == len && memcmp(z->name, name, len) == 0)
			break;
	}
	return &zs->node[i];
}

static void double_slots(struct dns_zoneset *zs)
{
	struct zone_node *old = zs->node;
	size_t n_old = zs->n_slots;
	zs->n_slots *= 2;
	zs->node = xcalloc(zs->n_slots, sizeof(*zs->node));
	for (size_t i = 0; i < n_old; i++) {
		if (old[i].first != 0)
			*find_slot(zs, old[i].hash, old[i].name, old[i].len) = old[i];
	}
	free(old);
}

static unsigned top_bit(uint32_t hash)
{
	return hash >> 24;
}

static void add_top(struct dns_zoneset *zs, const uint8_t *zone)
{
	if (zone[0] == 0)
		return;
	while (zone[zone[0] + 1] != 0)
		zone += zone[0] + 1;
	unsigned bit = top_bit(dns_name_hash(zone));
	zs->tops[bit / 64] |= UINT64_C(1) << bit % 64;
}

static ALWAYS_INLINE bool has_top(const struct dns_zoneset *zs, const struct dns_qname *qname)
{
	size_t top = (size_t)qname->n_labels - 1;
	unsigned bit = top_bit(qname->hash[top]);
	return (zs->tops[bit / 64] >> bit % 64 & 1) != 0;
}

void dns_zoneset_add(struct dns_zoneset *zs, const uint8_t *zone, uint32_t seq, void *value)
{
	uint8_t lower[DNS_NAME_MAX];
	size_t len = dns_name_lower(zone, lower);
	uint32_t hash = dns_name_hash(lower);
	unsigned depth = dns_name_labels(lower);

	struct zone_node *z = find_slot(zs, hash, lower, len);
	if (z->first == 0 && (zs->n_zones + 1) * 2 > zs->n_slots) {
		double_slots(zs);
		z = find_slot(zs, hash, lower, len);
	}
	vec_push(&zs->entry, (struct dns_zone_entry){ .seq = seq, .value = value });
	uint32_t index = (uint32_t)zs->entry.n;
	if (z->first == 0) {
		*z = (struct zone_node){ .hash = hash, .first = index, .len = (uint8_t)len };
		z->name = xmemdup(lower, len);
		zs->n_zones++;
		zs->depths[depth / 64] |= UINT64_C(1) << depth % 64;
		add_top(zs, lower);
	} else {
		zs->entry.v[z->last - 1].next = index;
	}
	if (depth == 0 && zs->root == 0)
		zs->root = index;
	z->last = index;
	zs->entry.v[index - 1].zone = z->name;
}

size_t dns_zoneset_count(const struct dns_zoneset *zs)
{
	return zs->n_zones;
}

static const struct dns_zone_entry *at_label(const struct dns_zoneset *zs,
					     const struct dns_qname *qname, unsigned index,
					     unsigned *ret_label)
{
	size_t at = qname->label[index];
	const struct zone_node *z =
		find_slot(zs, qname->hash[index], qname->wire + at, qname->len - at);
	if (z->first == 0)
		return NULL;
	if (ret_label != NULL)
		*ret_label = index;
	return &zs->entry.v[z->first - 1];
}

const struct dns_zone_entry *dns_zoneset_at(const struct dns_zoneset *zs,
					    const struct dns_qname *qname, unsigned label)
{
	if (label > qname->n_labels)
		return NULL;
	unsigned depth = qname->n_labels - label;
	if ((zs->depths[depth / 64] >> depth % 64 & 1) == 0)
		return NULL;
	return at_label(zs, qname, label, NULL);
}

/* Names of so many labels that their depths are not in one word. */
static NOINLINE const struct dns_zone_entry *longest_deep(const struct dns_zoneset *zs,
							  const struct dns_qname *qname,
							  unsigned from_label, unsigned *ret_label)
{
	for (unsigned i = from_label; i <= qname->n_labels; i++) {
		unsigned depth = qname->n_labels - i;
		if ((zs->depths[depth / 64] >> depth % 64 & 1) == 0)
			continue;
		const struct dns_zone_entry *e = at_label(zs, qname, i, ret_label);
		if (e != NULL)
			return e;
	}
	return NULL;
}

const struct dns_zone_entry *dns_zoneset_longest(const struct dns_zoneset *zs,
						 const struct dns_qname *qname, unsigned from_label,
						 unsigned *ret_label)
{
	if (UNLIKELY(qname->n_labels >= 64))
		return longest_deep(zs, qname, from_label, ret_label);
	if (from_label > qname->n_labels)
		return NULL;
	/* Only depths at which there are zones, the deepest first. */
	uint64_t depths = zs->depths[0] & (UINT64_MAX >> (63 - (qname->n_labels - from_label)));
	if (depths > 1 && !has_top(zs, qname))
		depths &= 1;
	while (depths > 1) {
		unsigned depth = 63 - (unsigned)__builtin_clzll(depths);
		const struct dns_zone_entry *e =
			at_label(zs, qname, qname->n_labels - depth, ret_label);
		if (e != NULL)
			return e;
		depths ^= UINT64_C(1) << depth;
	}
	if (depths == 0)
		return NULL;
	if (ret_label != NULL)
		*ret_label = qname->n_labels;
	return &zs->entry.v[zs->root - 1];
}

const struct dns_zone_entry *dns_zoneset_same(const struct dns_zoneset *zs,
					      const struct dns_zone_entry *entry)
{
	return entry->next != 0 ? &zs->entry.v[entry->next - 1] : NULL;
}

void dns_zoneset_iter(struct dns_zoneset_iter *it, const struct dns_zoneset *zs,
		      const struct dns_qname *qname)
{
	unsigned label = 0;
	it->zs = zs;
	it->n = 0;
	const struct dns_zone_entry *e;
	while (label <= qname->n_labels &&
	       (e = dns_zoneset_longest(zs, qname, label, &label)) != NULL) {
		it->at[it->n++] = e;
		label++;
	}
}

const struct dns_zone_entry *dns_zoneset_next(struct dns_zoneset_iter *it)
{
	const struct dns_zone_entry *best = NULL;
	for (unsigned i = 0; i < it->n; i++) {
		if (it->at[i] != NULL && (best == NULL || it->at[i]->seq < best->seq))
			best = it->at[i];
	}
	if (best == NULL)
		return NULL;
	/* One seq may stand under several covering zones, and twice under one: step over all. */
	for (unsigned i = 0; i < it->n; i++) {
		while (it->at[i] != NULL && it->at[i]->seq == best->seq)
			it->at[i] = dns_zoneset_same(it->zs, it->at[i]);
	}
	return best;
}
