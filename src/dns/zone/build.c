/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Building a zone snapshot: records come in any order; names are numbered as they appear (with the
 * empty non-terminals above them), and at the end put into canonical order with their sets. */
#include "dns/zone/build.h"
#include "dns/zone/build_priv.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "dns/zone/apex_wire_priv.h"
#include "dns/zone/zone_priv.h"

enum { SLOTS_MIN = 64, KEY_MAX = 2 * DNS_NAME_MAX };

/* Offsets have 32 bits. */
#define BYTES_MAX ((size_t)UINT32_MAX - (1 << 20))

struct bytes {
	uint8_t *p;
	size_t n;
	size_t cap;
};

struct name {
	uint32_t hash;
	uint32_t at; /* in names */
	uint32_t parent;
	uint8_t len;
	uint8_t flags;
};

struct record {
	uint32_t name; /* number */
	uint32_t at;   /* in data */
	uint32_t seq;
	uint16_t type;
	uint16_t covered;
	uint32_t cased; /* owner as written, plus one; 0: in lower case */
};

struct dns_zone_builder {
	uint8_t origin[DNS_NAME_MAX];
	unsigned origin_labels;
	VEC(struct name) name;
	VEC(struct record) record;
	struct zone_slot *slot; /* of names by number */
	size_t n_slot;
	struct bytes names;
	struct bytes data;
	size_t outside;
	uint32_t last; /* name of the record before */
};

/* ---- memory ---- */

static int bytes_add(struct bytes *bytes, const void *data, size_t len, uint32_t *ret_at)
{
	if (bytes->n + len > BYTES_MAX)
		return ERR_LIMIT;
	if (bytes->n + len > bytes->cap) {
		bytes->cap = MAX(bytes->cap + bytes->cap / 2, bytes->n + len + 4096);
		bytes->p = xrealloc(bytes->p, bytes->cap);
	}
	*ret_at = (uint32_t)bytes->n;
	if (len != 0)
		memcpy(bytes->p + bytes->n, data, len);
	bytes->n += len;
	return 0;
}

/* Of what is read at random. Huge pages spare it the look-up of the page, where the system has
 * them. */
static void *alloc_large(size_t count, size_t elem_bytes)
{
	enum { HUGE_PAGE = 2 << 20 };
	size_t bytes = count * elem_bytes; /* limits of the builder keep it from wrapping */
	if (bytes < HUGE_PAGE)
		return xmalloc(bytes);
	bytes = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	void *p = aligned_alloc(HUGE_PAGE, bytes);
	if (p == NULL)
		abort();
	IGNORE(madvise(p, bytes, MADV_HUGEPAGE)); /* advice */
	return p;
}

struct dns_zone_builder *dns_zone_builder_new(const uint8_t *origin)
{
	struct dns_zone_builder *b = xcalloc(1, sizeof(*b));
	dns_name_lower(origin, b->origin);
	b->origin_labels = dns_name_labels(origin);
	b->n_slot = SLOTS_MIN;
	b->slot = xcalloc(b->n_slot, sizeof(*b->slot));
	b->last = DNS_ZONE_NONE;
	return b;
}

void dns_zone_builder_free(struct dns_zone_builder *builder)
{
	if (builder == NULL)
		return;
	vec_done(&builder->name);
	vec_done(&builder->record);
	free(builder->slot);
	free(builder->names.p);
	free(builder->data.p);
	free(builder);
}

size_t dns_zone_builder_outside(const struct dns_zone_builder *builder)
{
	return builder->outside;
}

/* ---- names ---- */

static void slot_put(struct zone_slot *slot, size_t n_slot, uint32_t hash, uint32_t node)
{
	size_t i = hash & (n_slot - 1);
	while (slot[i].node != 0)
		i = (i + 1) & (n_slot - 1);
	slot[i] = (struct zone_slot){ .hash = hash, .node = node + 1 };
}

static void grow_slots(struct dns_zone_builder *builder)
{
	free(builder->slot);
	builder->n_slot *= 2;
	builder->slot = xcalloc(builder->n_slot, sizeof(*builder->slot));
	for (size_t i = 0; i < builder->name.n; i++)
		slot_put(builder->slot, builder->n_slot, builder->name.v[i].hash, (uint32_t)i);
}

static uint32_t find_name(const struct dns_zone_builder *builder, uint32_t hash,
			  const uint8_t *wire, size_t len)
{
	size_t mask = builder->n_slot - 1;
	for (size_t i = hash & mask; builder->slot[i].node != 0; i = (i + 1) & mask) {
		if (builder->slot[i].hash != hash)
			continue;
		const struct name *n = &builder->name.v[builder->slot[i].node - 1];
		if (n->len == len && memcmp(builder->names.p + n->at, wire, len) == 0)
			return builder->slot[i].node - 1;
	}
	return DNS_ZONE_NONE;
}

static int add_name(struct dns_zone_builder *builder, const struct dns_qname *qname, unsigned label,
		    uint32_t *ret)
{
	const uint8_t *wire = qname->wire + qname->label[label];
	struct name n = {
		.hash = qname->hash[label],
		.parent = DNS_ZONE_NONE,
		.len = (uint8_t)(qname->len - qname->label[label]),
	};
	if (builder->name.n >= DNS_ZONE_RECORDS_MAX)
		return ERR_LIMIT;
	int r = bytes_add(&builder->names, wire, n.len, &n.at);
	if (r < 0)
		return r;
	*ret = (uint32_t)builder->name.n;
	vec_push(&builder->name, n);
	if (builder->name.n > builder->n_slot / 2)
		grow_slots(builder); /* puts the new name, too */
	else
		slot_put(builder->slot, builder->n_slot, n.hash, *ret);
	return 0;
}

/* The number of the name, which is new to the zone or not, with all names above it. */
static int take_name(struct dns_zone_builder *builder, const struct dns_qname *qname, uint32_t *ret)
{
	uint32_t child = DNS_ZONE_NONE;
	const uint8_t *child_label = NULL;
	for (unsigned label = 0; label + builder->origin_labels <= qname->n_labels; label++) {
		const uint8_t *wire = qname->wire + qname->label[label];
		uint32_t at = find_name(builder, qname->hash[label], wire,
					qname->len - qname->label[label]);
		bool known = at != DNS_ZONE_NONE;
		if (!known) {
			int r = add_name(builder, qname, label, &at);
			if (r < 0)
				return r;
		}
		if (label == 0)
			*ret = at;
		if (child != DNS_ZONE_NONE) {
			builder->name.v[child].parent = at;
			builder->name.v[at].flags |= DNS_ZONE_BELOW;
			if (child_label[0] == 1 && child_label[1] == '*')
				builder->name.v[at].flags |= DNS_ZONE_WILD;
		}
		if (known)
			return 0;
		child = at;
		child_label = wire;
	}
	return 0;
}

/* ---- records ---- */

/* clang-format off */
static const struct zone_names named[] = {
	/* type          skip  n  after     lowered */
	{ DNS_TYPE_NS,    0,   1, 0,        true },
	{ DNS_TYPE_CNAME, 0,   1, 0,        true },
	{ DNS_TYPE_SOA,   0,   2, 20,       true },
	{ DNS_TYPE_PTR,   0,   1, 0,        false },
	{ DNS_TYPE_MX,    2,   1, 0,        true },
	{ DNS_TYPE_SRV,   6,   1, 0,        false },
	{ DNS_TYPE_DNAME, 0,   1, 0,        false },
	{ DNS_TYPE_SVCB,  2,   1, ZONE_ANY, true },
	{ DNS_TYPE_HTTPS, 2,   1, ZONE_ANY, true },
};
/* clang-format on */

const struct zone_names *dns_zone_names(uint16_t type)
{
	for (size_t i = 0; i < ARRAY_LEN(named); i++) {
		if (named[i].type == type)
			return &named[i];
	}
	return NULL;
}

/* What replies rely on. Text was checked when it was read, but not all RFC 3597 data, and zones
 * come from transfers, too. */
static bool data_valid(const struct dns_rr *rr)
{
	const struct zone_names *w = dns_zone_names(rr->type);
	uint8_t name[DNS_NAME_MAX];
	if (rr->type == DNS_TYPE_RRSIG)
		return rr->rdlen > 18;
	if (w == NULL)
		return true;
	size_t at = w->skip;
	for (unsigned i = 0; i < w->n; i++) {
		/* Seen from its own start a name has nothing to point back to. */
		int n = at < rr->rdlen ? dns_name_unpack(rr->rdata + at, rr->rdlen - at, 0, name)
				       : ERR_PARSE;
		if (n < 0)
			return false;
		at += (size_t)n;
	}
	return w->after == ZONE_ANY || at + w->after == rr->rdlen;
}

static void lower_data(uint16_t type, uint8_t *rdata)
{
	const struct zone_names *w = dns_zone_names(type);
	if (w == NULL || !w->lowered)
		return;
	rdata += w->skip;
	for (unsigned i = 0; i < w->n; i++)
		rdata += dns_name_lower(rdata, rdata);
}

static int add_data(struct dns_zone_builder *builder, const struct dns_rr *rr, uint32_t *ret_at)
{
	uint8_t head[DNS_ZONE_RR_HEAD] = { 0xc0, DNS_HEADER_BYTES };
	uint32_t unused;
	dns_put16(head + 2, rr->type);
	dns_put16(head + 4, rr->cls);
	dns_put32(head + 6, rr->ttl);
	dns_put16(head + 10, rr->rdlen);
	int r = bytes_add(&builder->data, head, sizeof(head), ret_at);
	if (r == 0)
		r = bytes_add(&builder->data, rr->rdata, rr->rdlen, &unused);
	if (r == 0)
		lower_data(rr->type, builder->data.p + builder->data.n - rr->rdlen);
	return r;
}

static bool same_as_last(const struct dns_zone_builder *builder, const struct dns_rr *rr)
{
	if (builder->last == DNS_ZONE_NONE)
		return false;
	const struct name *n = &builder->name.v[builder->last];
	return n->len == rr->owner_len && memcmp(builder->names.p + n->at, rr->owner, n->len) == 0;
}

static int take_owner(struct dns_zone_builder *builder, const struct dns_rr *rr, struct record *rec)
{
	struct dns_qname q;
	uint32_t at;
	dns_qname_set(&q, rr->owner);
	int r = take_name(builder, &q, &rec->name);
	if (r < 0 || !q.has_upper || rr->type != DNS_TYPE_SRV)
		return r;
	r = bytes_add(&builder->names, rr->owner, rr->owner_len, &at);
	if (r == 0)
		rec->cased = at + 1;
	return r;
}

int dns_zone_builder_add(struct dns_zone_builder *builder, const struct dns_rr *rr)
{
	struct record rec = { .type = rr->type, .seq = (uint32_t)builder->record.n };
	int r;
	if (builder->record.n >= DNS_ZONE_RECORDS_MAX)
		return ERR_LIMIT;
	if (!data_valid(rr))
		return ERR_PARSE;
	if (same_as_last(builder, rr)) {
		rec.name = builder->last;
	} else if (!dns_name_is_below(rr->owner, builder->origin)) {
		builder->outside++;
		return 0;
	} else if ((r = take_owner(builder, rr, &rec)) < 0) {
		return r;
	}
	builder->last = rec.name;
	if (rr->type == DNS_TYPE_RRSIG)
		rec.covered = dns_get16(rr->rdata);
	r = add_data(builder, rr, &rec.at);
	if (r < 0)
		return r;
	vec_push(&builder->record, rec);
	return 0;
}

/* ---- canonical order ---- */

struct sort_key {
	uint32_t at; /* in the keys */
	uint32_t len;
	uint32_t name;
};

/* Labels from the right, each ended by a zero, so that comparing bytes compares names (RFC 4034
 * §6.1); bytes 0 and 1 in labels take two each to keep their place. */
static size_t make_key(const uint8_t *wire, uint8_t out[KEY_MAX])
{
	uint8_t at[DNS_LABELS_MAX];
	unsigned n = 0;
	size_t len = 0;
	for (size_t i = 0; wire[i] != 0; i += wire[i] + 1U)
		at[n++] = (uint8_t)i;
	while (n > 0) {
		const uint8_t *l = wire + at[--n];
		for (unsigned i = 1; i <= l[0]; i++) {
			if (l[i] <= 1)
				out[len++] = 1;
			out[len++] = l[i] <= 1 ? (uint8_t)(l[i] + 1) : l[i];
		}
		out[len++] = 0;
	}
	return len;
}

static int compare_keys(const void *left, const void *right, void *ctx)
{
	const struct sort_key *a = left;
	const struct sort_key *b = right;
	const uint8_t *keys = ctx;
	int c = memcmp(keys + a->at, keys + b->at, MIN(a->len, b->len));
	return c != 0 ? c : (a->len > b->len) - (a->len < b->len);
}

/* Numbers of the names in canonical order; NULL when they would be too much. */
static struct sort_key *sort_names(const struct dns_zone_builder *builder)
{
	struct bytes keys = { 0 };
	struct sort_key *sorted = xreallocarray(NULL, builder->name.n, sizeof(*sorted));
	uint8_t key[KEY_MAX];
	int r = 0;
	for (size_t i = 0; i < builder->name.n && r == 0; i++) {
		sorted[i].len = (uint32_t)make_key(builder->names.p + builder->name.v[i].at, key);
		sorted[i].name = (uint32_t)i;
		r = bytes_add(&keys, key, sorted[i].len, &sorted[i].at);
	}
	if (r == 0)
		qsort_r(sorted, builder->name.n, sizeof(*sorted), compare_keys, keys.p);
	free(keys.p);
	if (r < 0) {
		free(sorted);
		return NULL;
	}
	return sorted;
}

/* ---- layout ---- */

static int compare_records(const void *left, const void *right)
{
	const struct record *a = left;
	const struct record *b = right;
	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	uint32_t key_a = (uint32_t)a->type << 16 | a->covered;
	uint32_t key_b = (uint32_t)b->type << 16 | b->covered;
	if (key_a != key_b)
		return key_a < key_b ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static void lay_nodes(struct dns_zone *zone, struct dns_zone_builder *builder,
		      const struct sort_key *sorted, uint32_t *place)
{
	zone->n_node = builder->name.n;
	zone->node = alloc_large(zone->n_node, sizeof(*zone->node));
	for (size_t i = 0; i < zone->n_node; i++)
		place[sorted[i].name] = (uint32_t)i;
	for (size_t i = 0; i < zone->n_node; i++) {
		const struct name *n = &builder->name.v[sorted[i].name];
		zone->node[i] = (struct dns_zone_node){
			.name = n->at,
			.name_len = n->len,
			.flags = n->flags,
			.parent = n->parent != DNS_ZONE_NONE ? place[n->parent] : DNS_ZONE_NONE,
			.cover = DNS_ZONE_NONE,
		};
	}
	for (zone->n_slot = SLOTS_MIN; zone->n_slot < zone->n_node + zone->n_node / 2;)
		zone->n_slot *= 2;
	zone->slot = alloc_large(zone->n_slot, sizeof(*zone->slot));
	memset(zone->slot, 0, zone->n_slot * sizeof(*zone->slot));
	for (size_t i = 0; i < zone->n_node; i++)
		slot_put(zone->slot, zone->n_slot, builder->name.v[sorted[i].name].hash,
			 (uint32_t)i);
}

static bool starts_set(const struct record *record, const struct record *before)
{
	return before == NULL || before->name != record->name || before->type != record->type ||
	       before->covered != record->covered;
}

static size_t count_sets(const struct dns_zone_builder *builder)
{
	size_t n = 0;
	for (size_t i = 0; i < builder->record.n; i++) {
		const struct record *r = &builder->record.v[i];
		n += starts_set(r, i > 0 ? r - 1 : NULL);
	}
	return n;
}

/* A new set at a node whose sets before are complete. */
static int open_set(struct dns_zone *zone, const struct record *record)
{
	struct dns_zone_node *n = &zone->node[record->name];
	if (n->n_set == UINT16_MAX)
		return ERR_LIMIT;
	if (n->n_set++ == 0)
		n->set = (uint32_t)zone->n_set;
	zone->set[zone->n_set++] = (struct dns_zone_set){
		.at = (uint32_t)zone->data_bytes,
		.type = record->type,
		.covered = record->covered,
		.flags = dns_zone_names(record->type) == NULL ? DNS_ZONE_FLAT : 0,
	};
	zone->has_sigs = zone->has_sigs || record->type == DNS_TYPE_RRSIG;
	if (record->type == DNS_TYPE_DNAME)
		n->flags |= DNS_ZONE_DNAME;
	if (record->type == DNS_TYPE_CNAME)
		n->flags |= DNS_ZONE_ALIAS;
	return 0;
}

static uint32_t lay_name(struct dns_zone *zone, const uint8_t *name, size_t len)
{
	uint32_t at = (uint32_t)zone->data_bytes;
	memcpy(zone->data + at, name, len);
	zone->data_bytes += len;
	return at;
}

/* The owner as written, for the set that is opened next. */
static void note_case(struct dns_zone *zone, const struct dns_zone_builder *builder,
		      const struct record *record)
{
	uint32_t at = lay_name(zone, builder->names.p + record->cased - 1,
			       zone->node[record->name].name_len);
	zone->cased = xreallocarray(zone->cased, zone->n_cased + 1, sizeof(*zone->cased));
	zone->cased[zone->n_cased++] =
		(struct zone_cased){ .set = (uint32_t)zone->n_set, .name = at };
}

static int lay_record(struct dns_zone *zone, const struct dns_zone_builder *builder, size_t index)
{
	const struct record *r = &builder->record.v[index];
	const uint8_t *p = builder->data.p + r->at;
	size_t bytes = dns_zone_rr_bytes(p);
	if (starts_set(r, index > 0 ? r - 1 : NULL)) {
		if (r->cased != 0)
			note_case(zone, builder, r);
		int e = open_set(zone, r);
		if (e < 0)
			return e;
		if (r->cased != 0)
			zone->set[zone->n_set - 1].flags |= DNS_ZONE_CASED;
	}
	struct dns_zone_set *s = &zone->set[zone->n_set - 1];
	if (s->n == DNS_ZONE_SET_MAX)
		return ERR_LIMIT;
	memcpy(zone->data + zone->data_bytes, p, bytes);
	zone->data_bytes += bytes;
	s->bytes += (uint32_t)bytes;
	s->n++;
	return 0;
}

/* Names and records node by node; records are sorted by place, type and order of arrival. */
static int lay_sets(struct dns_zone *zone, const struct dns_zone_builder *builder)
{
	size_t room = builder->names.n + builder->data.n + ZONE_OVERREAD;
	if (room > BYTES_MAX)
		return ERR_LIMIT;
	zone->set = alloc_large(count_sets(builder), sizeof(*zone->set));
	zone->data = alloc_large(room, 1);
	zone->n_record = builder->record.n;
	for (size_t i = 0, k = 0; i < zone->n_node; i++) {
		struct dns_zone_node *n = &zone->node[i];
		n->name = lay_name(zone, builder->names.p + n->name, n->name_len);
		for (; k < builder->record.n && builder->record.v[k].name == i; k++) {
			int r = lay_record(zone, builder, k);
			if (r < 0)
				return r;
		}
	}
	memset(zone->data + zone->data_bytes, 0, room - zone->data_bytes);
	zone->data_bytes = room;
	zone->is_large = dns_zone_bytes(zone) > ZONE_LARGE_BYTES;
	return 0;
}

/* Parents come before their children. */
static void find_covers(struct dns_zone *zone)
{
	for (size_t i = 1; i < zone->n_node; i++) {
		struct dns_zone_node *n = &zone->node[i];
		const struct dns_zone_node *up = &zone->node[n->parent];
		if (up->cover != DNS_ZONE_NONE)
			n->cover = up->cover;
		else if ((up->flags & DNS_ZONE_DNAME) != 0)
			n->cover = n->parent;
		else if (dns_zone_set(zone, n, DNS_TYPE_NS) != NULL)
			n->cover = (uint32_t)i;
	}
}

static int find_apex(struct dns_zone *zone)
{
	const struct dns_zone_set *soa =
		zone->n_node > 0 ? dns_zone_set(zone, &zone->node[0], DNS_TYPE_SOA) : NULL;
	if (soa == NULL)
		return ERR_NOTFOUND;
	const uint8_t *rr = dns_zone_data(zone, soa);
	const uint8_t *p = rr + DNS_ZONE_RR_HEAD;
	p += dns_name_len(p);
	p += dns_name_len(p);
	zone->serial = dns_get32(p);
	zone->is_signed = dns_zone_sigs(zone, &zone->node[0], DNS_TYPE_SOA) != NULL &&
			  dns_zone_set(zone, &zone->node[0], DNS_TYPE_NSEC) != NULL;
	return 0;
}

/* Of several SOA records the last one counts, as in CoreDNS. */
static void drop_old_soa(struct dns_zone_builder *builder)
{
	size_t kept = 0;
	uint32_t last = 0;
	for (size_t i = 0; i < builder->record.n; i++) {
		if (builder->record.v[i].type == DNS_TYPE_SOA)
			last = builder->record.v[i].seq;
	}
	for (size_t i = 0; i < builder->record.n; i++) {
		if (builder->record.v[i].type != DNS_TYPE_SOA || builder->record.v[i].seq == last)
			builder->record.v[kept++] = builder->record.v[i];
	}
	builder->record.n = kept;
}

static const uint8_t *last_label(const uint8_t *name)
{
	const uint8_t *last = name;
	for (; *name != 0; name += *name + 1)
		last = name;
	return last;
}

/* A single PTR whose target has not even the last label in common with the zone cannot be
 * compressed. */
static void mark_flat_pointers(struct dns_zone *zone)
{
	const uint8_t *top = last_label(dns_zone_origin(zone));
	for (size_t i = 0; i < zone->n_set; i++) {
		struct dns_zone_set *s = &zone->set[i];
		const uint8_t *target = zone->data + s->at + DNS_ZONE_RR_HEAD;
		if (s->type == DNS_TYPE_PTR && s->n == 1 && !dns_name_eq(last_label(target), top))
			s->flags |= DNS_ZONE_FLAT;
	}
}

static int lay_out(struct dns_zone_builder *builder, struct dns_zone *zone)
{
	struct sort_key *sorted = sort_names(builder);
	if (sorted == NULL)
		return ERR_LIMIT;
	uint32_t *place = xreallocarray(NULL, builder->name.n, sizeof(*place));
	lay_nodes(zone, builder, sorted, place);
	free(sorted);
	vec_done(&builder->name);
	free(builder->slot);
	builder->slot = NULL;
	for (size_t i = 0; i < builder->record.n; i++)
		builder->record.v[i].name = place[builder->record.v[i].name];
	free(place);
	qsort(builder->record.v, builder->record.n, sizeof(*builder->record.v), compare_records);
	int r = lay_sets(zone, builder);
	if (r < 0)
		return r;
	find_covers(zone);
	r = find_apex(zone);
	if (r == 0) {
		mark_flat_pointers(zone);
		dns_zone_apex_wire_build(zone);
	}
	return r;
}

int dns_zone_build(struct dns_zone_builder *builder, struct dns_zone **ret)
{
	struct dns_zone *z = xcalloc(1, sizeof(*z));
	int r = ERR_NOTFOUND;
	atomic_store_explicit(&z->refs, 1, memory_order_relaxed);
	z->origin_labels = (uint8_t)builder->origin_labels;
	drop_old_soa(builder);
	if (builder->record.n > 0)
		r = lay_out(builder, z);
	dns_zone_builder_free(builder);
	if (r < 0)
		dns_zone_unref(z);
	else
		*ret = z;
	return r;
}
