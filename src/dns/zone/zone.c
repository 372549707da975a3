/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Zone snapshots as readers see them: finding names and records, and counting references. */
#include "dns/zone/zone.h"

#include <stdlib.h>
#include <string.h>

#include "dns/zone/zone_priv.h"
#include "dns/zone/zone_test.h"

/* ---- life ---- */

struct dns_zone *dns_zone_ref(struct dns_zone *zone)
{
	atomic_fetch_add_explicit(&zone->refs, 1, memory_order_relaxed);
	return zone;
}

void dns_zone_unref(struct dns_zone *zone)
{
	if (zone == NULL || atomic_fetch_sub_explicit(&zone->refs, 1, memory_order_acq_rel) != 1)
		return;
	free(zone->node);
	free(zone->set);
	free(zone->slot);
	free(zone->data);
	free(zone->cased);
	for (int i = 0; i < DNS_ZONE_APEX_SETS; i++)
		free(zone->apex_wire[i]);
	free(zone);
}

static void unref_later(struct rcu_item *item)
{
	dns_zone_unref(CONTAINER_OF(item, struct dns_zone, rcu));
}

void dns_zone_retire(struct dns_zone *zone)
{
	if (zone != NULL)
		rcu_defer(&zone->rcu, unref_later);
}

/* ---- what it is ---- */

const uint8_t *dns_zone_origin(const struct dns_zone *zone)
{
	return zone->data + zone->node[0].name;
}

uint32_t dns_zone_serial(const struct dns_zone *zone)
{
	return zone->serial;
}

bool dns_zone_signed(const struct dns_zone *zone)
{
	return zone->is_signed;
}

bool dns_zone_has_sigs(const struct dns_zone *zone)
{
	return zone->has_sigs;
}

size_t dns_zone_n_nodes(const struct dns_zone *zone)
{
	return zone->n_node;
}

size_t dns_zone_n_records(const struct dns_zone *zone)
{
	return zone->n_record;
}

size_t dns_zone_bytes(const struct dns_zone *zone)
{
	return sizeof(*zone) + zone->n_node * sizeof(*zone->node) +
	       zone->n_set * sizeof(*zone->set) + zone->n_slot * sizeof(*zone->slot) +
	       zone->data_bytes + zone->n_cased * sizeof(*zone->cased);
}

/* ---- nodes and sets ---- */

const struct dns_zone_node *dns_zone_node(const struct dns_zone *zone, size_t index)
{
	return &zone->node[index];
}

const uint8_t *dns_zone_name(const struct dns_zone *zone, const struct dns_zone_node *node)
{
	return zone->data + node->name;
}

static const struct dns_zone_node *find_node(const struct dns_zone *zone, uint32_t hash,
					     const uint8_t *name, size_t len)
{
	size_t mask = zone->n_slot - 1;
	for (size_t i = hash & mask; zone->slot[i].node != 0; i = (i + 1) & mask) {
		if (zone->slot[i].hash != hash)
			continue;
		const struct dns_zone_node *n = &zone->node[zone->slot[i].node - 1];
		if (n->name_len == len && memcmp(zone->data + n->name, name, len) == 0)
			return n;
	}
	return NULL;
}

const struct dns_zone_node *dns_zone_find(const struct dns_zone *zone,
					  const struct dns_qname *qname, unsigned label)
{
	return find_node(zone, qname->hash[label], qname->wire + qname->label[label],
			 qname->len - qname->label[label]);
}

const struct dns_zone_node *dns_zone_find_name(const struct dns_zone *zone, const uint8_t *name)
{
	struct dns_qname q;
	dns_qname_set(&q, name);
	return dns_zone_find(zone, &q, 0);
}

const struct dns_zone_set *dns_zone_sets(const struct dns_zone *zone,
					 const struct dns_zone_node *node)
{
	return zone->set + node->set;
}

static inline uint32_t set_key(uint16_t type, uint16_t covered)
{
	return (uint32_t)type << 16 | covered;
}

static const struct dns_zone_set *find_set(const struct dns_zone *zone,
					   const struct dns_zone_node *node, uint32_t key)
{
	const struct dns_zone_set *s = zone->set + node->set;
	size_t lo = 0;
	size_t hi = node->n_set;
	while (hi - lo > 4) {
		size_t mid = (lo + hi) / 2;
		if (set_key(s[mid].type, s[mid].covered) <= key)
			lo = mid;
		else
			hi = mid;
	}
	for (; lo < hi; lo++) {
		if (set_key(s[lo].type, s[lo].covered) == key)
			return &s[lo];
	}
	return NULL;
}

const struct dns_zone_set *dns_zone_set(const struct dns_zone *zone,
					const struct dns_zone_node *node, uint16_t type)
{
	return find_set(zone, node, set_key(type, 0));
}

const struct dns_zone_set *dns_zone_sigs(const struct dns_zone *zone,
					 const struct dns_zone_node *node, uint16_t covered)
{
	return find_set(zone, node, set_key(DNS_TYPE_RRSIG, covered));
}

static int compare_cased(const void *key, const void *elem)
{
	uint32_t a = *(const uint32_t *)key;
	uint32_t b = ((const struct zone_cased *)elem)->set;
	return (a > b) - (a < b);
}

const uint8_t *dns_zone_owner(const struct dns_zone *zone, const struct dns_zone_node *node,
			      const struct dns_zone_set *set)
{
	if (LIKELY((set->flags & DNS_ZONE_CASED) == 0))
		return zone->data + node->name;
	uint32_t key = (uint32_t)(set - zone->set);
	const struct zone_cased *c =
		bsearch(&key, zone->cased, zone->n_cased, sizeof(*zone->cased), compare_cased);
	return zone->data + (c != NULL ? c->name : node->name);
}

const uint8_t *dns_zone_data(const struct dns_zone *zone, const struct dns_zone_set *set)
{
	return zone->data + set->at;
}

const struct dns_zone_apex_wire *dns_zone_apex_wire(const struct dns_zone *zone,
						    enum dns_zone_apex_set kind)
{
	return zone->apex_wire[kind];
}

/* ---- memory ---- */

bool dns_zone_is_large(const struct dns_zone *zone)
{
	return zone->is_large;
}

/* The node of a name with this hash, most likely; NULL: none. */
static const struct dns_zone_node *guess_node(const struct dns_zone *zone, uint32_t hash)
{
	size_t mask = zone->n_slot - 1;
	for (size_t i = hash & mask; zone->slot[i].node != 0; i = (i + 1) & mask) {
		if (zone->slot[i].hash == hash)
			return &zone->node[zone->slot[i].node - 1];
	}
	return NULL;
}

void dns_zone_prefetch(const struct dns_zone *zone, uint32_t hash, unsigned step)
{
	enum { LINE = 64 };
	if (step == 0) {
		__builtin_prefetch(&zone->slot[hash & (zone->n_slot - 1)]);
		return;
	}
	const struct dns_zone_node *n = guess_node(zone, hash);
	if (n == NULL)
		return;
	if (step == 1) {
		__builtin_prefetch(n);
	} else {
		__builtin_prefetch(zone->data + n->name);
		__builtin_prefetch(zone->data + n->name + LINE);
		__builtin_prefetch(zone->set + n->set);
	}
}

/* ---- order ---- */

/* Of lower-case names that both lie in the zone: by labels from the right, as bytes. */
static int compare_names(const uint8_t *left, const uint8_t *right)
{
	uint8_t at_a[DNS_LABELS_MAX + 1];
	uint8_t at_b[DNS_LABELS_MAX + 1];
	unsigned n_a = 0;
	unsigned n_b = 0;
	for (size_t i = 0; left[i] != 0; i += left[i] + 1U)
		at_a[n_a++] = (uint8_t)i;
	for (size_t i = 0; right[i] != 0; i += right[i] + 1U)
		at_b[n_b++] = (uint8_t)i;
	while (n_a > 0 && n_b > 0) {
		const uint8_t *x = left + at_a[--n_a];
		const uint8_t *y = right + at_b[--n_b];
		int c = memcmp(x + 1, y + 1, MIN(x[0], y[0]));
		if (c == 0)
			c = x[0] - y[0];
		if (c != 0)
			return c;
	}
	return (int)n_a - (int)n_b;
}

const struct dns_zone_node *dns_zone_nsec_before(const struct dns_zone *zone, const uint8_t *name)
{
	uint8_t lower[DNS_NAME_MAX];
	size_t lo = 0; /* the apex is before all */
	size_t hi = zone->n_node;
	dns_name_lower(name, lower);
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;
		if (compare_names(zone->data + zone->node[mid].name, lower) <= 0)
			lo = mid;
		else
			hi = mid;
	}
	for (;;) {
		const struct dns_zone_node *n = &zone->node[lo];
		if (dns_zone_set(zone, n, DNS_TYPE_NSEC) != NULL)
			return n;
		if (lo == 0)
			return NULL;
		/* Names below a cut have none, and may be many. */
		lo = n->cover != DNS_ZONE_NONE && n->cover < lo ? n->cover : lo - 1;
	}
}

/* ---- looking up ---- */

static const struct dns_zone_node *wildcard_of(const struct dns_zone *zone,
					       const struct dns_zone_node *node)
{
	uint8_t name[DNS_NAME_MAX + 2] = { 1, '*' };
	memcpy(name + 2, zone->data + node->name, node->name_len);
	return dns_zone_find_name(zone, name);
}

static void covered_by(const struct dns_zone_node *cover, bool itself, struct dns_zone_hit *ret)
{
	ret->node = cover;
	ret->at_cut = itself;
	ret->kind = !itself && (cover->flags & DNS_ZONE_DNAME) != 0 ? DNS_ZONE_REDIRECTED
								    : DNS_ZONE_DELEGATED;
}

static void lookup_missing(const struct dns_zone *zone, const struct dns_qname *qname,
			   struct dns_zone_hit *ret)
{
	const struct dns_zone_node *n = NULL;
	unsigned label = 0;
	while (n == NULL)
		n = dns_zone_find(zone, qname, ++label);
	ret->label = label;
	ret->encloser = n;
	if (n->cover != DNS_ZONE_NONE) {
		covered_by(&zone->node[n->cover], false, ret);
		return;
	}
	if ((n->flags & DNS_ZONE_DNAME) != 0) {
		covered_by(n, false, ret);
		return;
	}
	ret->kind = (n->flags & DNS_ZONE_WILD) != 0 ? DNS_ZONE_WILDCARD : DNS_ZONE_NXNAME;
	ret->node = ret->kind == DNS_ZONE_WILDCARD ? wildcard_of(zone, n) : n;
}

void dns_zone_lookup(const struct dns_zone *zone, const struct dns_qname *qname,
		     struct dns_zone_hit *ret)
{
	const struct dns_zone_node *n = dns_zone_find(zone, qname, 0);
	ret->at_cut = false;
	ret->label = 0;
	ret->encloser = n;
	if (n == NULL) {
		lookup_missing(zone, qname, ret);
	} else if (UNLIKELY(n->cover != DNS_ZONE_NONE)) {
		const struct dns_zone_node *cover = &zone->node[n->cover];
		covered_by(cover, cover == n, ret);
	} else {
		ret->node = n;
		ret->kind = n->n_set != 0 ? DNS_ZONE_FOUND : DNS_ZONE_EMPTY;
	}
}
