/* The parser and the table of hosts files. Everything lies in a few arrays with indexes instead of
 * pointers, because block lists come as hosts files of a million lines. */
#include "plugin/hosts/hostsfile.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "net/addr.h"

struct slot {
	uint32_t hash;
	uint32_t at; /* index + 1 into what is hashed; 0: free */
};

/* Open addressing, at most half full. */
struct index {
	struct slot *slot;
	size_t n_slot; /* power of two */
	size_t n;
};

struct owner {
	const uint8_t *wire;
	uint32_t first[2], last[2]; /* by family: index + 1 into addr */
};

/* Names of one sort: plain ones, or wildcards by the name under their `*`. */
struct owners {
	VEC(struct owner) v;
	struct index index;
};

struct reverse {
	uint8_t ip[16];
	uint32_t first, last; /* index + 1 into name */
};

struct hostsfile {
	struct arena arena; /* wire names */
	struct owners plain, wild;
	VEC(struct hostsfile_addr) addr;
	VEC(struct hostsfile_name) name;
	VEC(struct reverse) reverse;
	struct index reverse_index;
};

static void index_put(struct index *x, uint32_t hash, size_t at)
{
	size_t mask = x->n_slot - 1;
	size_t i = hash & mask;
	while (x->slot[i].at != 0)
		i = (i + 1) & mask;
	x->slot[i] = (struct slot){ hash, (uint32_t)at + 1 };
}

static void index_add(struct index *x, uint32_t hash, size_t at)
{
	if ((x->n + 1) * 2 > x->n_slot) {
		struct index wider = { .n_slot = MAX(x->n_slot * 2, (size_t)16) };
		wider.slot = xcalloc(wider.n_slot, sizeof(*wider.slot));
		for (size_t i = 0; i < x->n_slot; i++) {
			if (x->slot[i].at != 0)
				index_put(&wider, x->slot[i].hash, x->slot[i].at - 1);
		}
		wider.n = x->n;
		free(x->slot);
		*x = wider;
	}
	index_put(x, hash, at);
	x->n++;
}

/* Visits the candidates of a hash: *pos starts as the hash; NULL at the end. */
static const struct slot *index_next(const struct index *x, uint32_t hash, size_t *pos)
{
	size_t mask = x->n_slot - 1;
	while (x->n_slot != 0) {
		const struct slot *s = &x->slot[(*pos)++ & mask];
		if (s->at == 0 || s->hash == hash)
			return s->at == 0 ? NULL : s;
	}
	return NULL;
}

/* ---- names ---- */

static struct owner *owner_find(const struct owners *o, uint32_t hash, const uint8_t *wire)
{
	const struct slot *s;
	size_t pos = hash;
	while ((s = index_next(&o->index, hash, &pos)) != NULL) {
		struct owner *w = &o->v.v[s->at - 1];
		if (dns_name_eq_case(w->wire, wire))
			return w;
	}
	return NULL;
}

static struct owner *owner_get(struct hostsfile *h, struct owners *o, const uint8_t *wire)
{
	uint32_t hash = dns_name_hash(wire);
	struct owner *w = owner_find(o, hash, wire);
	if (w != NULL)
		return w;
	index_add(&o->index, hash, o->v.n);
	w = vec_add(&o->v);
	w->wire = arena_memdup(&h->arena, wire, dns_name_len(wire));
	return w;
}

static void add_addr(struct hostsfile *h, struct owner *w, enum hostsfile_family family,
		     const uint8_t ip[16])
{
	struct hostsfile_addr *a = vec_add(&h->addr);
	memcpy(a->ip, ip, 16);
	if (w->last[family] != 0)
		h->addr.v[w->last[family] - 1].next = (uint32_t)h->addr.n;
	else
		w->first[family] = (uint32_t)h->addr.n;
	w->last[family] = (uint32_t)h->addr.n;
}

/* ---- addresses ---- */

static uint32_t ip_hash(const uint8_t ip[16])
{
	return (uint32_t)hash_bytes(hash_process_key(), ip, 16);
}

static struct reverse *reverse_find(const struct hostsfile *h, const uint8_t ip[16])
{
	const struct slot *s;
	uint32_t hash = ip_hash(ip);
	size_t pos = hash;
	while ((s = index_next(&h->reverse_index, hash, &pos)) != NULL) {
		struct reverse *r = &h->reverse.v[s->at - 1];
		if (memcmp(r->ip, ip, 16) == 0)
			return r;
	}
	return NULL;
}

static void add_reverse(struct hostsfile *h, const uint8_t ip[16], const uint8_t *wire)
{
	struct reverse *r = reverse_find(h, ip);
	if (r == NULL) {
		index_add(&h->reverse_index, ip_hash(ip), h->reverse.n);
		r = vec_add(&h->reverse);
		memcpy(r->ip, ip, 16);
	}
	vec_push(&h->name, (struct hostsfile_name){ .wire = wire });
	if (r->last != 0)
		h->name.v[r->last - 1].next = (uint32_t)h->name.n;
	else
		r->first = (uint32_t)h->name.n;
	r->last = (uint32_t)h->name.n;
}

/* ---- the text ---- */

struct line {
	unsigned number;
	bool has_addr;
	enum hostsfile_family family;
	uint8_t ip[16];
};

/* IPv4 as ::ffff:a.b.c.d, so that one form stands for both. */
static void set_ip(struct line *l, union net_addr *a)
{
	size_t n;
	net_addr_unmap(a);
	const uint8_t *bytes = net_addr_bytes(a, &n);
	memset(l->ip, 0, 10);
	memset(l->ip + 10, 0xff, 2);
	memcpy(l->ip + 16 - n, bytes, n);
	l->family = n == 4 ? HOSTSFILE_V4 : HOSTSFILE_V6;
	l->has_addr = true;
}

static void take_address(struct line *l, struct slice field)
{
	union net_addr a;
	struct slice ip = slice_cut(&field, '%'); /* the scope does not matter to clients */
	if (net_addr_parse_ip(ip, &a) == 0)
		set_ip(l, &a);
}

static void take_name(struct hostsfile *h, const struct hostsfile_opts *o, const struct line *l,
		      struct slice field)
{
	uint8_t wire[DNS_NAME_MAX];
	if (dns_name_from_text(field, wire) < 0)
		return;
	dns_name_lower(wire, wire);
	if (o->keep != NULL && !o->keep(o->ctx, wire))
		return;
	if (wire[0] == 1 && wire[1] == '*') {
		add_addr(h, owner_get(h, &h->wild, wire + 2), l->family, l->ip);
		return;
	}
	struct owner *w = owner_get(h, &h->plain, wire);
	add_addr(h, w, l->family, l->ip);
	if (o->reverse)
		add_reverse(h, l->ip, w->wire);
}

static void take_line(struct hostsfile *h, const struct hostsfile_opts *o, unsigned number,
		      struct slice text)
{
	struct line l = { .number = number };
	const char *end = text.p + text.n;
	bool first = true;
	for (const char *p = text.p; p < end;) {
		const char *start = p;
		if (ascii_isspace(*p)) {
			p++;
			continue;
		}
		while (p < end && !ascii_isspace(*p))
			p++;
		struct slice field = { start, (size_t)(p - start) };
		bool fits = field.n <= HOSTSFILE_FIELD_MAX;
		if (!fits && (first || l.has_addr) && o->too_long != NULL)
			o->too_long(o->ctx, number, first);
		if (fits && first)
			take_address(&l, field);
		else if (fits && l.has_addr)
			take_name(h, o, &l, field);
		first = false;
	}
}

int hostsfile_parse(struct slice text, const struct hostsfile_opts *o, struct hostsfile **ret)
{
	if (text.n > HOSTSFILE_BYTES_MAX)
		return ERR_LIMIT;
	struct hostsfile *h = xcalloc(1, sizeof(*h));
	arena_init(&h->arena);
	for (unsigned number = 1; text.n > 0; number++) {
		struct slice line = slice_cut(&text, '\n');
		take_line(h, o, number, slice_cut(&line, '#'));
	}
	*ret = h;
	return 0;
}

void hostsfile_free(struct hostsfile *h)
{
	if (h == NULL)
		return;
	free(h->plain.index.slot);
	free(h->wild.index.slot);
	free(h->reverse_index.slot);
	vec_done(&h->plain.v);
	vec_done(&h->wild.v);
	vec_done(&h->addr);
	vec_done(&h->name);
	vec_done(&h->reverse);
	arena_done(&h->arena);
	free(h);
}

/* ---- reading ---- */

size_t hostsfile_entries(const struct hostsfile *h)
{
	return h->addr.n + h->name.n;
}

const struct hostsfile_addr *hostsfile_find(const struct hostsfile *h, const struct dns_qname *q,
					    enum hostsfile_family family)
{
	const struct owner *w = owner_find(&h->plain, q->hash[0], q->wire);
	if ((w == NULL || w->first[family] == 0) && q->n_labels > 1)
		w = owner_find(&h->wild, q->hash[1], q->wire + q->label[1]);
	if (w == NULL || w->first[family] == 0)
		return NULL;
	return &h->addr.v[w->first[family] - 1];
}

const struct hostsfile_addr *hostsfile_next(const struct hostsfile *h,
					    const struct hostsfile_addr *a)
{
	return a->next != 0 ? &h->addr.v[a->next - 1] : NULL;
}

const struct hostsfile_name *hostsfile_reverse(const struct hostsfile *h, const uint8_t ip[16])
{
	const struct reverse *r = reverse_find(h, ip);
	return r != NULL ? &h->name.v[r->first - 1] : NULL;
}

const struct hostsfile_name *hostsfile_next_name(const struct hostsfile *h,
						 const struct hostsfile_name *n)
{
	return n->next != 0 ? &h->name.v[n->next - 1] : NULL;
}

/* The labels before `suffix` as text, the last one first, with `.` between; false when the name is
 * not below it or has more than fits. */
static bool reversed(const struct dns_qname *q, const char *suffix, size_t labels, char *out,
		     size_t cap)
{
	size_t n = strlen(suffix) + 1, at = 0;
	if (q->n_labels <= 2 || memcmp(q->wire + q->label[q->n_labels - 2], suffix, n) != 0 ||
	    (size_t)q->n_labels - 2 < labels)
		return false;
	for (size_t i = 0; i < labels; i++) {
		const uint8_t *label = q->wire + q->label[(size_t)q->n_labels - 3 - i];
		if (at + *label + 2U > cap)
			return false;
		memcpy(out + at, label + 1, *label);
		at += *label;
		out[at++] = '.';
	}
	out[at - 1] = '\0';
	return true;
}

static int hex_value(char c)
{
	return ascii_isdigit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool hostsfile_reverse_ip(const struct dns_qname *q, uint8_t ret_ip[16])
{
	enum { V4_LABELS = 4, V6_LABELS = 32 };
	char text[80];
	struct line l = { 0 };
	union net_addr a = { 0 };
	if (q->n_labels == V4_LABELS + 2 &&
	    reversed(q, "\7in-addr\4arpa", V4_LABELS, text, sizeof(text))) {
		if (strspn(text, "0123456789.") != strlen(text) ||
		    net_addr_parse_ip(slice_of(text), &a) < 0)
			return false;
	} else if (q->n_labels < V6_LABELS + 4 + 2 &&
		   reversed(q, "\3ip6\4arpa", V6_LABELS, text, sizeof(text)) &&
		   strlen(text) == V6_LABELS * 2 - 1) {
		a.family = AF_INET6;
		for (unsigned i = 0; i < V6_LABELS; i++) {
			int v = hex_value(text[(size_t)i * 2]);
			if (v < 0 || (i > 0 && text[(size_t)i * 2 - 1] != '.'))
				return false;
			a.v6.sin6_addr.s6_addr[i / 2] |= (uint8_t)(i % 2 == 0 ? v << 4 : v);
		}
	} else {
		return false;
	}
	set_ip(&l, &a);
	memcpy(ret_ip, l.ip, 16);
	return true;
}
