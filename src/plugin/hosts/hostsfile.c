/* SPDX-License-Identifier: GPL-3.0-or-later */
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

static void index_put(struct index *index, uint32_t hash, size_t at)
{
	size_t mask = index->n_slot - 1;
	size_t i = hash & mask;
	while (index->slot[i].at != 0)
		i = (i + 1) & mask;
	index->slot[i] = (struct slot){ hash, (uint32_t)at + 1 };
}

static void index_add(struct index *index, uint32_t hash, size_t at)
{
	if ((index->n + 1) * 2 > index->n_slot) {
		struct index wider = { .n_slot = MAX(index->n_slot * 2, (size_t)16) };
		wider.slot = xcalloc(wider.n_slot, sizeof(*wider.slot));
		for (size_t i = 0; i < index->n_slot; i++) {
			if (index->slot[i].at != 0)
				index_put(&wider, index->slot[i].hash, index->slot[i].at - 1);
		}
		wider.n = index->n;
		free(index->slot);
		*index = wider;
	}
	index_put(index, hash, at);
	index->n++;
}

/* Visits the candidates of a hash: *pos starts as the hash; NULL at the end. */
static const struct slot *index_next(const struct index *index, uint32_t hash, size_t *pos)
{
	size_t mask = index->n_slot - 1;
	while (index->n_slot != 0) {
		const struct slot *s = &index->slot[(*pos)++ & mask];
		if (s->at == 0 || s->hash == hash)
			return s->at == 0 ? NULL : s;
	}
	return NULL;
}

/* ---- names ---- */

static struct owner *owner_find(const struct owners *owners, uint32_t hash, const uint8_t *wire)
{
	const struct slot *s;
	size_t pos = hash;
	while ((s = index_next(&owners->index, hash, &pos)) != NULL) {
		struct owner *w = &owners->v.v[s->at - 1];
		if (dns_name_eq_case(w->wire, wire))
			return w;
	}
	return NULL;
}

static struct owner *owner_get(struct hostsfile *hostsfile, struct owners *owners,
			       const uint8_t *wire)
{
	uint32_t hash = dns_name_hash(wire);
	struct owner *w = owner_find(owners, hash, wire);
	if (w != NULL)
		return w;
	index_add(&owners->index, hash, owners->v.n);
	w = vec_add(&owners->v);
	w->wire = arena_memdup(&hostsfile->arena, wire, dns_name_len(wire));
	return w;
}

static void add_addr(struct hostsfile *hostsfile, struct owner *owner, enum hostsfile_family family,
		     const uint8_t ip[16])
{
	struct hostsfile_addr *a = vec_add(&hostsfile->addr);
	memcpy(a->ip, ip, 16);
	if (owner->last[family] != 0)
		hostsfile->addr.v[owner->last[family] - 1].next = (uint32_t)hostsfile->addr.n;
	else
		owner->first[family] = (uint32_t)hostsfile->addr.n;
	owner->last[family] = (uint32_t)hostsfile->addr.n;
}

/* ---- addresses ---- */

static uint32_t ip_hash(const uint8_t ip[16])
{
	return (uint32_t)hash_bytes(hash_process_key(), ip, 16);
}

static struct reverse *reverse_find(const struct hostsfile *hostsfile, const uint8_t ip[16])
{
	const struct slot *s;
	uint32_t hash = ip_hash(ip);
	size_t pos = hash;
	while ((s = index_next(&hostsfile->reverse_index, hash, &pos)) != NULL) {
		struct reverse *r = &hostsfile->reverse.v[s->at - 1];
		if (memcmp(r->ip, ip, 16) == 0)
			return r;
	}
	return NULL;
}

static void add_reverse(struct hostsfile *hostsfile, const uint8_t ip[16], const uint8_t *wire)
{
	struct reverse *r = reverse_find(hostsfile, ip);
	if (r == NULL) {
		index_add(&hostsfile->reverse_index, ip_hash(ip), hostsfile->reverse.n);
		r = vec_add(&hostsfile->reverse);
		memcpy(r->ip, ip, 16);
	}
	vec_push(&hostsfile->name, (struct hostsfile_name){ .wire = wire });
	if (r->last != 0)
		hostsfile->name.v[r->last - 1].next = (uint32_t)hostsfile->name.n;
	else
		r->first = (uint32_t)hostsfile->name.n;
	r->last = (uint32_t)hostsfile->name.n;
}

/* ---- the text ---- */

struct line {
	unsigned number;
	bool has_addr;
	enum hostsfile_family family;
	uint8_t ip[16];
};

/* IPv4 as ::ffff:a.b.c.d, so that one form stands for both. */
static void set_ip(struct line *line, union net_addr *addr)
{
	size_t n;
	net_addr_unmap(addr);
	const uint8_t *bytes = net_addr_bytes(addr, &n);
	memset(line->ip, 0, 10);
	memset(line->ip + 10, 0xff, 2);
	memcpy(line->ip + 16 - n, bytes, n);
	line->family = n == 4 ? HOSTSFILE_V4 : HOSTSFILE_V6;
	line->has_addr = true;
}

static void take_address(struct line *line, struct slice field)
{
	union net_addr a;
	struct slice ip = slice_cut(&field, '%'); /* the scope does not matter to clients */
	if (net_addr_parse_ip(ip, &a) == 0)
		set_ip(line, &a);
}

static void take_name(struct hostsfile *hostsfile, const struct hostsfile_opts *opts,
		      const struct line *line, struct slice field)
{
	uint8_t wire[DNS_NAME_MAX];
	if (dns_name_from_text(field, wire) < 0)
		return;
	dns_name_lower(wire, wire);
	if (opts->keep != NULL && !opts->keep(opts->ctx, wire))
		return;
	if (wire[0] == 1 && wire[1] == '*') {
		add_addr(hostsfile, owner_get(hostsfile, &hostsfile->wild, wire + 2), line->family,
			 line->ip);
		return;
	}
	struct owner *w = owner_get(hostsfile, &hostsfile->plain, wire);
	add_addr(hostsfile, w, line->family, line->ip);
	if (opts->reverse)
		add_reverse(hostsfile, line->ip, w->wire);
}

static void take_line(struct hostsfile *hostsfile, const struct hostsfile_opts *opts,
		      unsigned number, struct slice text)
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
		if (!fits && (first || l.has_addr) && opts->too_long != NULL)
			opts->too_long(opts->ctx, number, first);
		if (fits && first)
			take_address(&l, field);
		else if (fits && l.has_addr)
			take_name(hostsfile, opts, &l, field);
		first = false;
	}
}

int hostsfile_parse(struct slice text, const struct hostsfile_opts *opts, struct hostsfile **ret)
{
	if (text.n > HOSTSFILE_BYTES_MAX)
		return ERR_LIMIT;
	struct hostsfile *h = xcalloc(1, sizeof(*h));
	arena_init(&h->arena);
	for (unsigned number = 1; text.n > 0; number++) {
		struct slice line = slice_cut(&text, '\n');
		take_line(h, opts, number, slice_cut(&line, '#'));
	}
	*ret = h;
	return 0;
}

void hostsfile_free(struct hostsfile *hostsfile)
{
	if (hostsfile == NULL)
		return;
	free(hostsfile->plain.index.slot);
	free(hostsfile->wild.index.slot);
	free(hostsfile->reverse_index.slot);
	vec_done(&hostsfile->plain.v);
	vec_done(&hostsfile->wild.v);
	vec_done(&hostsfile->addr);
	vec_done(&hostsfile->name);
	vec_done(&hostsfile->reverse);
	arena_done(&hostsfile->arena);
	free(hostsfile);
}

/* ---- reading ---- */

size_t hostsfile_entries(const struct hostsfile *hostsfile)
{
	return hostsfile->addr.n + hostsfile->name.n;
}

const struct hostsfile_addr *hostsfile_find(const struct hostsfile *hostsfile,
					    const struct dns_qname *qname,
					    enum hostsfile_family family)
{
	const struct owner *w = owner_find(&hostsfile->plain, qname->hash[0], qname->wire);
	if ((w == NULL || w->first[family] == 0) && qname->n_labels > 1)
		w = owner_find(&hostsfile->wild, qname->hash[1], qname->wire + qname->label[1]);
	if (w == NULL || w->first[family] == 0)
		return NULL;
	return &hostsfile->addr.v[w->first[family] - 1];
}

const struct hostsfile_addr *hostsfile_next(const struct hostsfile *hostsfile,
					    const struct hostsfile_addr *addr)
{
	return addr->next != 0 ? &hostsfile->addr.v[addr->next - 1] : NULL;
}

const struct hostsfile_name *hostsfile_reverse(const struct hostsfile *hostsfile,
					       const uint8_t ip[16])
{
	const struct reverse *r = reverse_find(hostsfile, ip);
	return r != NULL ? &hostsfile->name.v[r->first - 1] : NULL;
}

const struct hostsfile_name *hostsfile_next_name(const struct hostsfile *hostsfile,
						 const struct hostsfile_name *name)
{
	return name->next != 0 ? &hostsfile->name.v[name->next - 1] : NULL;
}

/* The labels before `suffix` as text, the last one first, with `.` between; false when the name is
 * not below it or has more than fits. */
static bool reverse_labels(const struct dns_qname *qname, const char *suffix, size_t labels,
			   char *out, size_t cap)
{
	size_t n = strlen(suffix) + 1, at = 0;
	if (qname->n_labels <= 2 ||
	    memcmp(qname->wire + qname->label[qname->n_labels - 2], suffix, n) != 0 ||
	    (size_t)qname->n_labels - 2 < labels)
		return false;
	for (size_t i = 0; i < labels; i++) {
		const uint8_t *label = qname->wire + qname->label[(size_t)qname->n_labels - 3 - i];
		if (at + *label + 2U > cap)
			return false;
		memcpy(out + at, label + 1, *label);
		at += *label;
		out[at++] = '.';
	}
	out[at - 1] = '\0';
	return true;
}

bool hostsfile_reverse_ip(const struct dns_qname *qname, uint8_t ret_ip[16])
{
	enum { V4_LABELS = 4, V6_LABELS = 32 };
	char text[80];
	struct line l = { 0 };
	union net_addr a = { 0 };
	if (qname->n_labels == V4_LABELS + 2 &&
	    reverse_labels(qname, "\7in-addr\4arpa", V4_LABELS, text, sizeof(text))) {
		if (strspn(text, "0123456789.") != strlen(text) ||
		    net_addr_parse_ip(slice_of(text), &a) < 0)
			return false;
	} else if (qname->n_labels < V6_LABELS + 4 + 2 &&
		   reverse_labels(qname, "\3ip6\4arpa", V6_LABELS, text, sizeof(text)) &&
		   strlen(text) == V6_LABELS * 2 - 1) {
		a.family = AF_INET6;
		for (unsigned i = 0; i < V6_LABELS; i++) {
			int v = ascii_hex_value(text[(size_t)i * 2]);
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
