/* Look-ups in a zone snapshot, and its life. */
#include "dns/zone.h"

#include <stdlib.h>
#include <string.h>

#include "dns/zone_priv.h"

/* ---- life ---- */

struct dns_zone *dns_zone_ref(struct dns_zone *z)
{
	atomic_fetch_add_explicit(&z->refs, 1, memory_order_relaxed);
	return z;
}

void dns_zone_unref(struct dns_zone *z)
{
	if (z == NULL || atomic_fetch_sub_explicit(&z->refs, 1, memory_order_acq_rel) != 1)
		return;
	free(z->node);
	free(z->set);
	free(z->slot);
	free(z->data);
	free(z->cased);
	for (int i = 0; i < DNS_ZONE_PIECES; i++)
		free(z->piece[i]);
	free(z);
}

static void unref_later(struct rcu_item *item)
{
	dns_zone_unref(CONTAINER_OF(item, struct dns_zone, rcu));
}

void dns_zone_retire(struct dns_zone *z)
{
	if (z != NULL)
		rcu_defer(&z->rcu, unref_later);
}

/* ---- what it is ---- */

const uint8_t *dns_zone_origin(const struct dns_zone *z)
{
	return z->data + z->node[0].name;
}

unsigned dns_zone_origin_labels(const struct dns_zone *z)
{
	return z->origin_labels;
}

uint32_t dns_zone_serial(const struct dns_zone *z)
{
	return z->serial;
}

bool dns_zone_signed(const struct dns_zone *z)
{
	return z->is_signed;
}

bool dns_zone_has_sigs(const struct dns_zone *z)
{
	return z->has_sigs;
}

size_t dns_zone_n_nodes(const struct dns_zone *z)
{
	return z->n_node;
}

size_t dns_zone_n_records(const struct dns_zone *z)
{
	return z->n_record;
}

size_t dns_zone_bytes(const struct dns_zone *z)
{
	return sizeof(*z) + z->n_node * sizeof(*z->node) + z->n_set * sizeof(*z->set) +
	       z->n_slot * sizeof(*z->slot) + z->data_bytes + z->n_cased * sizeof(*z->cased);
}

/* ---- nodes and sets ---- */

const struct dns_zone_node *dns_zone_node(const struct dns_zone *z, size_t i)
{
	return &z->node[i];
}

const uint8_t *dns_zone_name(const struct dns_zone *z, const struct dns_zone_node *n)
{
	return z->data + n->name;
}

static const struct dns_zone_node *find(const struct dns_zone *z, uint32_t hash,
					const uint8_t *name, size_t len)
{
	size_t mask = z->n_slot - 1;
	for (size_t i = hash & mask; z->slot[i].node != 0; i = (i + 1) & mask) {
		if (z->slot[i].hash != hash)
			continue;
		const struct dns_zone_node *n = &z->node[z->slot[i].node - 1];
		if (n->name_len == len && memcmp(z->data + n->name, name, len) == 0)
			return n;
	}
	return NULL;
}

const struct dns_zone_node *dns_zone_find(const struct dns_zone *z, const struct dns_qname *q,
					  unsigned label)
{
	return find(z, q->hash[label], q->wire + q->label[label], q->len - q->label[label]);
}

const struct dns_zone_node *dns_zone_find_name(const struct dns_zone *z, const uint8_t *name)
{
	struct dns_qname q;
	dns_qname_set(&q, name);
	return dns_zone_find(z, &q, 0);
}

const struct dns_zone_set *dns_zone_sets(const struct dns_zone *z, const struct dns_zone_node *n)
{
	return z->set + n->set;
}

static inline uint32_t set_key(uint16_t type, uint16_t covered)
{
	return (uint32_t)type << 16 | covered;
}

static const struct dns_zone_set *find_set(const struct dns_zone *z, const struct dns_zone_node *n,
					   uint32_t key)
{
	const struct dns_zone_set *s = z->set + n->set;
	size_t lo = 0;
	size_t hi = n->n_set;
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

const struct dns_zone_set *dns_zone_set(const struct dns_zone *z, const struct dns_zone_node *n,
					uint16_t type)
{
	return find_set(z, n, set_key(type, 0));
}

const struct dns_zone_set *dns_zone_sigs(const struct dns_zone *z, const struct dns_zone_node *n,
					 uint16_t covered)
{
	return find_set(z, n, set_key(DNS_TYPE_RRSIG, covered));
}

static int compare_cased(const void *key, const void *elem)
{
	uint32_t a = *(const uint32_t *)key;
	uint32_t b = ((const struct zone_cased *)elem)->set;
	return (a > b) - (a < b);
}

const uint8_t *dns_zone_owner(const struct dns_zone *z, const struct dns_zone_node *n,
			      const struct dns_zone_set *s)
{
	if (LIKELY((s->flags & DNS_ZONE_CASED) == 0))
		return z->data + n->name;
	uint32_t key = (uint32_t)(s - z->set);
	const struct zone_cased *c =
		bsearch(&key, z->cased, z->n_cased, sizeof(*z->cased), compare_cased);
	return z->data + (c != NULL ? c->name : n->name);
}

const uint8_t *dns_zone_data(const struct dns_zone *z, const struct dns_zone_set *s)
{
	return z->data + s->at;
}

const struct dns_zone_piece *dns_zone_piece(const struct dns_zone *z, enum dns_zone_piece_kind kind)
{
	return z->piece[kind];
}

/* ---- memory ---- */

bool dns_zone_is_large(const struct dns_zone *z)
{
	return z->is_large;
}

/* The node of a name with this hash, most likely; NULL: none. */
static const struct dns_zone_node *guess_node(const struct dns_zone *z, uint32_t hash)
{
	size_t mask = z->n_slot - 1;
	for (size_t i = hash & mask; z->slot[i].node != 0; i = (i + 1) & mask) {
		if (z->slot[i].hash == hash)
			return &z->node[z->slot[i].node - 1];
	}
	return NULL;
}

void dns_zone_prefetch(const struct dns_zone *z, uint32_t hash, unsigned step)
{
	enum { LINE = 64 };
	if (step == 0) {
		__builtin_prefetch(&z->slot[hash & (z->n_slot - 1)]);
		return;
	}
	const struct dns_zone_node *n = guess_node(z, hash);
	if (n == NULL)
		return;
	if (step == 1) {
		__builtin_prefetch(n);
	} else {
		__builtin_prefetch(z->data + n->name);
		__builtin_prefetch(z->data + n->name + LINE);
		__builtin_prefetch(z->set + n->set);
	}
}

/* ---- order ---- */

/* Of lower-case names that both lie in the zone: by labels from the right, as bytes. */
static int compare_names(const uint8_t *a, const uint8_t *b)
{
	uint8_t at_a[DNS_LABELS_MAX + 1];
	uint8_t at_b[DNS_LABELS_MAX + 1];
	unsigned n_a = 0;
	unsigned n_b = 0;
	for (size_t i = 0; a[i] != 0; i += a[i] + 1U)
		at_a[n_a++] = (uint8_t)i;
	for (size_t i = 0; b[i] != 0; i += b[i] + 1U)
		at_b[n_b++] = (uint8_t)i;
	while (n_a > 0 && n_b > 0) {
		const uint8_t *x = a + at_a[--n_a];
		const uint8_t *y = b + at_b[--n_b];
		int c = memcmp(x + 1, y + 1, MIN(x[0], y[0]));
		if (c == 0)
			c = x[0] - y[0];
		if (c != 0)
			return c;
	}
	return (int)n_a - (int)n_b;
}

const struct dns_zone_node *dns_zone_nsec_before(const struct dns_zone *z, const uint8_t *name)
{
	uint8_t lower[DNS_NAME_MAX];
	size_t lo = 0; /* the apex is before all */
	size_t hi = z->n_node;
	dns_name_lower(name, lower);
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;
		if (compare_names(z->data + z->node[mid].name, lower) <= 0)
			lo = mid;
		else
			hi = mid;
	}
	for (;;) {
		const struct dns_zone_node *n = &z->node[lo];
		if (dns_zone_set(z, n, DNS_TYPE_NSEC) != NULL)
			return n;
		if (lo == 0)
			return NULL;
		/* Names below a cut have none, and may be many. */
		lo = n->cover != DNS_ZONE_NONE && n->cover < lo ? n->cover : lo - 1;
	}
}

/* ---- looking up ---- */

static const struct dns_zone_node *wildcard_of(const struct dns_zone *z,
					       const struct dns_zone_node *n)
{
	uint8_t name[DNS_NAME_MAX + 2] = { 1, '*' };
	memcpy(name + 2, z->data + n->name, n->name_len);
	return dns_zone_find_name(z, name);
}

static void covered_by(const struct dns_zone_node *cover, bool itself, struct dns_zone_hit *ret)
{
	ret->node = cover;
	ret->at_cut = itself;
	ret->kind = !itself && (cover->flags & DNS_ZONE_DNAME) != 0 ? DNS_ZONE_REDIRECTED
								    : DNS_ZONE_DELEGATED;
}

static void lookup_missing(const struct dns_zone *z, const struct dns_qname *q,
			   struct dns_zone_hit *ret)
{
	const struct dns_zone_node *n = NULL;
	unsigned label = 0;
	while (n == NULL)
		n = dns_zone_find(z, q, ++label);
	ret->label = label;
	ret->encloser = n;
	if (n->cover != DNS_ZONE_NONE) {
		covered_by(&z->node[n->cover], false, ret);
		return;
	}
	if ((n->flags & DNS_ZONE_DNAME) != 0) {
		covered_by(n, false, ret);
		return;
	}
	ret->kind = (n->flags & DNS_ZONE_WILD) != 0 ? DNS_ZONE_WILDCARD : DNS_ZONE_NXNAME;
	ret->node = ret->kind == DNS_ZONE_WILDCARD ? wildcard_of(z, n) : n;
}

void dns_zone_lookup(const struct dns_zone *z, const struct dns_qname *q, struct dns_zone_hit *ret)
{
	const struct dns_zone_node *n = dns_zone_find(z, q, 0);
	ret->at_cut = false;
	ret->label = 0;
	ret->encloser = n;
	if (n == NULL) {
		lookup_missing(z, q, ret);
	} else if (UNLIKELY(n->cover != DNS_ZONE_NONE)) {
		const struct dns_zone_node *cover = &z->node[n->cover];
		covered_by(cover, cover == n, ret);
	} else {
		ret->node = n;
		ret->kind = n->n_set != 0 ? DNS_ZONE_FOUND : DNS_ZONE_EMPTY;
	}
}
