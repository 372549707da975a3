/* Building a zone snapshot: records come in any order; names are numbered as they appear (with the
 * empty non-terminals above them), and at the end put into canonical order with their sets. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "dns/zone_priv.h"

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

static int bytes_add(struct bytes *b, const void *p, size_t n, uint32_t *ret_at)
{
	if (b->n + n > BYTES_MAX)
		return ERR_LIMIT;
	if (b->n + n > b->cap) {
		b->cap = MAX(b->cap + b->cap / 2, b->n + n + 4096);
		b->p = xrealloc(b->p, b->cap);
	}
	*ret_at = (uint32_t)b->n;
	if (n != 0)
		memcpy(b->p + b->n, p, n);
	b->n += n;
	return 0;
}

/* Of what is read at random. Huge pages spare it the look-up of the page, where the system has
 * them. */
static void *alloc_large(size_t n, size_t elem_bytes)
{
	enum { HUGE_PAGE = 2 << 20 };
	size_t bytes = n * elem_bytes; /* limits of the builder keep it from wrapping */
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

void dns_zone_builder_free(struct dns_zone_builder *b)
{
	if (b == NULL)
		return;
	vec_done(&b->name);
	vec_done(&b->record);
	free(b->slot);
	free(b->names.p);
	free(b->data.p);
	free(b);
}

size_t dns_zone_builder_outside(const struct dns_zone_builder *b)
{
	return b->outside;
}

/* ---- names ---- */

static void slot_put(struct zone_slot *slot, size_t n_slot, uint32_t hash, uint32_t node)
{
	size_t i = hash & (n_slot - 1);
	while (slot[i].node != 0)
		i = (i + 1) & (n_slot - 1);
	slot[i] = (struct zone_slot){ .hash = hash, .node = node + 1 };
}

static void grow_slots(struct dns_zone_builder *b)
{
	free(b->slot);
	b->n_slot *= 2;
	b->slot = xcalloc(b->n_slot, sizeof(*b->slot));
	for (size_t i = 0; i < b->name.n; i++)
		slot_put(b->slot, b->n_slot, b->name.v[i].hash, (uint32_t)i);
}

static uint32_t find_name(const struct dns_zone_builder *b, uint32_t hash, const uint8_t *wire,
			  size_t len)
{
	size_t mask = b->n_slot - 1;
	for (size_t i = hash & mask; b->slot[i].node != 0; i = (i + 1) & mask) {
		if (b->slot[i].hash != hash)
			continue;
		const struct name *n = &b->name.v[b->slot[i].node - 1];
		if (n->len == len && memcmp(b->names.p + n->at, wire, len) == 0)
			return b->slot[i].node - 1;
	}
	return DNS_ZONE_NONE;
}

static int add_name(struct dns_zone_builder *b, const struct dns_qname *q, unsigned label,
		    uint32_t *ret)
{
	const uint8_t *wire = q->wire + q->label[label];
	struct name n = {
		.hash = q->hash[label],
		.parent = DNS_ZONE_NONE,
		.len = (uint8_t)(q->len - q->label[label]),
	};
	if (b->name.n >= DNS_ZONE_RECORDS_MAX)
		return ERR_LIMIT;
	int r = bytes_add(&b->names, wire, n.len, &n.at);
	if (r < 0)
		return r;
	*ret = (uint32_t)b->name.n;
	vec_push(&b->name, n);
	if (b->name.n > b->n_slot / 2)
		grow_slots(b); /* puts the new name, too */
	else
		slot_put(b->slot, b->n_slot, n.hash, *ret);
	return 0;
}

/* The number of the name, which is new to the zone or not, with all names above it. */
static int take_name(struct dns_zone_builder *b, const struct dns_qname *q, uint32_t *ret)
{
	uint32_t child = DNS_ZONE_NONE;
	const uint8_t *child_label = NULL;
	for (unsigned label = 0; label + b->origin_labels <= q->n_labels; label++) {
		const uint8_t *wire = q->wire + q->label[label];
		uint32_t at = find_name(b, q->hash[label], wire, q->len - q->label[label]);
		bool known = at != DNS_ZONE_NONE;
		if (!known) {
			int r = add_name(b, q, label, &at);
			if (r < 0)
				return r;
		}
		if (label == 0)
			*ret = at;
		if (child != DNS_ZONE_NONE) {
			b->name.v[child].parent = at;
			b->name.v[at].flags |= DNS_ZONE_BELOW;
			if (child_label[0] == 1 && child_label[1] == '*')
				b->name.v[at].flags |= DNS_ZONE_WILD;
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

static int add_data(struct dns_zone_builder *b, const struct dns_rr *rr, uint32_t *ret_at)
{
	uint8_t head[DNS_ZONE_RR_HEAD] = { 0xc0, DNS_HEADER_BYTES };
	uint32_t unused;
	dns_put16(head + 2, rr->type);
	dns_put16(head + 4, rr->cls);
	dns_put32(head + 6, rr->ttl);
	dns_put16(head + 10, rr->rdlen);
	int r = bytes_add(&b->data, head, sizeof(head), ret_at);
	if (r == 0)
		r = bytes_add(&b->data, rr->rdata, rr->rdlen, &unused);
	if (r == 0)
		lower_data(rr->type, b->data.p + b->data.n - rr->rdlen);
	return r;
}

static bool same_as_last(const struct dns_zone_builder *b, const struct dns_rr *rr)
{
	if (b->last == DNS_ZONE_NONE)
		return false;
	const struct name *n = &b->name.v[b->last];
	return n->len == rr->owner_len && memcmp(b->names.p + n->at, rr->owner, n->len) == 0;
}

static int take_owner(struct dns_zone_builder *b, const struct dns_rr *rr, struct record *rec)
{
	struct dns_qname q;
	uint32_t at;
	dns_qname_set(&q, rr->owner);
	int r = take_name(b, &q, &rec->name);
	if (r < 0 || !q.has_upper || rr->type != DNS_TYPE_SRV)
		return r;
	r = bytes_add(&b->names, rr->owner, rr->owner_len, &at);
	if (r == 0)
		rec->cased = at + 1;
	return r;
}

int dns_zone_builder_add(struct dns_zone_builder *b, const struct dns_rr *rr)
{
	struct record rec = { .type = rr->type, .seq = (uint32_t)b->record.n };
	int r;
	if (b->record.n >= DNS_ZONE_RECORDS_MAX)
		return ERR_LIMIT;
	if (!data_valid(rr))
		return ERR_PARSE;
	if (same_as_last(b, rr)) {
		rec.name = b->last;
	} else if (!dns_name_is_below(rr->owner, b->origin)) {
		b->outside++;
		return 0;
	} else if ((r = take_owner(b, rr, &rec)) < 0) {
		return r;
	}
	b->last = rec.name;
	if (rr->type == DNS_TYPE_RRSIG)
		rec.covered = dns_get16(rr->rdata);
	r = add_data(b, rr, &rec.at);
	if (r < 0)
		return r;
	vec_push(&b->record, rec);
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

static int compare_keys(const void *x, const void *y, void *ctx)
{
	const struct sort_key *a = x;
	const struct sort_key *b = y;
	const uint8_t *keys = ctx;
	int c = memcmp(keys + a->at, keys + b->at, MIN(a->len, b->len));
	return c != 0 ? c : (a->len > b->len) - (a->len < b->len);
}

/* Numbers of the names in canonical order; NULL when they would be too much. */
static struct sort_key *sort_names(const struct dns_zone_builder *b)
{
	struct bytes keys = { 0 };
	struct sort_key *sorted = xreallocarray(NULL, b->name.n, sizeof(*sorted));
	uint8_t key[KEY_MAX];
	int r = 0;
	for (size_t i = 0; i < b->name.n && r == 0; i++) {
		sorted[i].len = (uint32_t)make_key(b->names.p + b->name.v[i].at, key);
		sorted[i].name = (uint32_t)i;
		r = bytes_add(&keys, key, sorted[i].len, &sorted[i].at);
	}
	if (r == 0)
		qsort_r(sorted, b->name.n, sizeof(*sorted), compare_keys, keys.p);
	free(keys.p);
	if (r < 0) {
		free(sorted);
		return NULL;
	}
	return sorted;
}

/* ---- layout ---- */

static int compare_records(const void *x, const void *y)
{
	const struct record *a = x;
	const struct record *b = y;
	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	uint32_t key_a = (uint32_t)a->type << 16 | a->covered;
	uint32_t key_b = (uint32_t)b->type << 16 | b->covered;
	if (key_a != key_b)
		return key_a < key_b ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static void lay_nodes(struct dns_zone *z, struct dns_zone_builder *b, const struct sort_key *sorted,
		      uint32_t *place)
{
	z->n_node = b->name.n;
	z->node = alloc_large(z->n_node, sizeof(*z->node));
	for (size_t i = 0; i < z->n_node; i++)
		place[sorted[i].name] = (uint32_t)i;
	for (size_t i = 0; i < z->n_node; i++) {
		const struct name *n = &b->name.v[sorted[i].name];
		z->node[i] = (struct dns_zone_node){
			.name = n->at,
			.name_len = n->len,
			.flags = n->flags,
			.parent = n->parent != DNS_ZONE_NONE ? place[n->parent] : DNS_ZONE_NONE,
			.cover = DNS_ZONE_NONE,
		};
	}
	for (z->n_slot = SLOTS_MIN; z->n_slot < z->n_node + z->n_node / 2;)
		z->n_slot *= 2;
	z->slot = alloc_large(z->n_slot, sizeof(*z->slot));
	memset(z->slot, 0, z->n_slot * sizeof(*z->slot));
	for (size_t i = 0; i < z->n_node; i++)
		slot_put(z->slot, z->n_slot, b->name.v[sorted[i].name].hash, (uint32_t)i);
}

static bool starts_set(const struct record *r, const struct record *before)
{
	return before == NULL || before->name != r->name || before->type != r->type ||
	       before->covered != r->covered;
}

static size_t count_sets(const struct dns_zone_builder *b)
{
	size_t n = 0;
	for (size_t i = 0; i < b->record.n; i++) {
		const struct record *r = &b->record.v[i];
		n += starts_set(r, i > 0 ? r - 1 : NULL);
	}
	return n;
}

/* A new set at a node whose sets before are complete. */
static int open_set(struct dns_zone *z, const struct record *r)
{
	struct dns_zone_node *n = &z->node[r->name];
	if (n->n_set == UINT16_MAX)
		return ERR_LIMIT;
	if (n->n_set++ == 0)
		n->set = (uint32_t)z->n_set;
	z->set[z->n_set++] = (struct dns_zone_set){
		.at = (uint32_t)z->data_bytes,
		.type = r->type,
		.covered = r->covered,
		.flags = dns_zone_names(r->type) == NULL ? DNS_ZONE_FLAT : 0,
	};
	z->has_sigs = z->has_sigs || r->type == DNS_TYPE_RRSIG;
	if (r->type == DNS_TYPE_DNAME)
		n->flags |= DNS_ZONE_DNAME;
	if (r->type == DNS_TYPE_CNAME)
		n->flags |= DNS_ZONE_ALIAS;
	return 0;
}

static uint32_t lay_name(struct dns_zone *z, const uint8_t *name, size_t len)
{
	uint32_t at = (uint32_t)z->data_bytes;
	memcpy(z->data + at, name, len);
	z->data_bytes += len;
	return at;
}

/* The owner as written, for the set that is opened next. */
static void note_case(struct dns_zone *z, const struct dns_zone_builder *b, const struct record *r)
{
	uint32_t at = lay_name(z, b->names.p + r->cased - 1, z->node[r->name].name_len);
	z->cased = xreallocarray(z->cased, z->n_cased + 1, sizeof(*z->cased));
	z->cased[z->n_cased++] = (struct zone_cased){ .set = (uint32_t)z->n_set, .name = at };
}

static int lay_record(struct dns_zone *z, const struct dns_zone_builder *b, size_t i)
{
	const struct record *r = &b->record.v[i];
	const uint8_t *p = b->data.p + r->at;
	size_t bytes = dns_zone_rr_bytes(p);
	if (starts_set(r, i > 0 ? r - 1 : NULL)) {
		if (r->cased != 0)
			note_case(z, b, r);
		int e = open_set(z, r);
		if (e < 0)
			return e;
		if (r->cased != 0)
			z->set[z->n_set - 1].flags |= DNS_ZONE_CASED;
	}
	struct dns_zone_set *s = &z->set[z->n_set - 1];
	if (s->n == DNS_ZONE_SET_MAX)
		return ERR_LIMIT;
	memcpy(z->data + z->data_bytes, p, bytes);
	z->data_bytes += bytes;
	s->bytes += (uint32_t)bytes;
	s->n++;
	return 0;
}

/* Names and records node by node; records are sorted by place, type and order of arrival. */
static int lay_sets(struct dns_zone *z, const struct dns_zone_builder *b)
{
	size_t room = b->names.n + b->data.n + ZONE_OVERREAD;
	if (room > BYTES_MAX)
		return ERR_LIMIT;
	z->set = alloc_large(count_sets(b), sizeof(*z->set));
	z->data = alloc_large(room, 1);
	z->n_record = b->record.n;
	for (size_t i = 0, k = 0; i < z->n_node; i++) {
		struct dns_zone_node *n = &z->node[i];
		n->name = lay_name(z, b->names.p + n->name, n->name_len);
		for (; k < b->record.n && b->record.v[k].name == i; k++) {
			int r = lay_record(z, b, k);
			if (r < 0)
				return r;
		}
	}
	memset(z->data + z->data_bytes, 0, room - z->data_bytes);
	z->data_bytes = room;
	z->is_large = dns_zone_bytes(z) > ZONE_LARGE_BYTES;
	return 0;
}

/* Parents come before their children. */
static void find_covers(struct dns_zone *z)
{
	for (size_t i = 1; i < z->n_node; i++) {
		struct dns_zone_node *n = &z->node[i];
		const struct dns_zone_node *up = &z->node[n->parent];
		if (up->cover != DNS_ZONE_NONE)
			n->cover = up->cover;
		else if ((up->flags & DNS_ZONE_DNAME) != 0)
			n->cover = n->parent;
		else if (dns_zone_set(z, n, DNS_TYPE_NS) != NULL)
			n->cover = (uint32_t)i;
	}
}

static int find_apex(struct dns_zone *z)
{
	const struct dns_zone_set *soa =
		z->n_node > 0 ? dns_zone_set(z, &z->node[0], DNS_TYPE_SOA) : NULL;
	if (soa == NULL)
		return ERR_NOTFOUND;
	const uint8_t *rr = dns_zone_data(z, soa);
	const uint8_t *p = rr + DNS_ZONE_RR_HEAD;
	p += dns_name_len(p);
	p += dns_name_len(p);
	z->serial = dns_get32(p);
	z->is_signed = dns_zone_sigs(z, &z->node[0], DNS_TYPE_SOA) != NULL &&
		       dns_zone_set(z, &z->node[0], DNS_TYPE_NSEC) != NULL;
	return 0;
}

/* Of several SOA records the last one counts, as in CoreDNS. */
static void drop_old_soa(struct dns_zone_builder *b)
{
	size_t kept = 0;
	uint32_t last = 0;
	for (size_t i = 0; i < b->record.n; i++) {
		if (b->record.v[i].type == DNS_TYPE_SOA)
			last = b->record.v[i].seq;
	}
	for (size_t i = 0; i < b->record.n; i++) {
		if (b->record.v[i].type != DNS_TYPE_SOA || b->record.v[i].seq == last)
			b->record.v[kept++] = b->record.v[i];
	}
	b->record.n = kept;
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
static void flatten(struct dns_zone *z)
{
	const uint8_t *top = last_label(dns_zone_origin(z));
	for (size_t i = 0; i < z->n_set; i++) {
		struct dns_zone_set *s = &z->set[i];
		const uint8_t *target = z->data + s->at + DNS_ZONE_RR_HEAD;
		if (s->type == DNS_TYPE_PTR && s->n == 1 && !dns_name_eq(last_label(target), top))
			s->flags |= DNS_ZONE_FLAT;
	}
}

static int lay_out(struct dns_zone_builder *b, struct dns_zone *z)
{
	struct sort_key *sorted = sort_names(b);
	if (sorted == NULL)
		return ERR_LIMIT;
	uint32_t *place = xreallocarray(NULL, b->name.n, sizeof(*place));
	lay_nodes(z, b, sorted, place);
	free(sorted);
	vec_done(&b->name);
	free(b->slot);
	b->slot = NULL;
	for (size_t i = 0; i < b->record.n; i++)
		b->record.v[i].name = place[b->record.v[i].name];
	free(place);
	qsort(b->record.v, b->record.n, sizeof(*b->record.v), compare_records);
	int r = lay_sets(z, b);
	if (r < 0)
		return r;
	find_covers(z);
	r = find_apex(z);
	if (r == 0) {
		flatten(z);
		dns_zone_lay_pieces(z);
	}
	return r;
}

int dns_zone_build(struct dns_zone_builder *b, struct dns_zone **ret)
{
	struct dns_zone *z = xcalloc(1, sizeof(*z));
	int r = ERR_NOTFOUND;
	atomic_store_explicit(&z->refs, 1, memory_order_relaxed);
	z->origin_labels = (uint8_t)b->origin_labels;
	drop_old_soa(b);
	if (b->record.n > 0)
		r = lay_out(b, z);
	dns_zone_builder_free(b);
	if (r < 0)
		dns_zone_unref(z);
	else
		*ret = z;
	return r;
}
