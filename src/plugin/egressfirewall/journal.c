/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Versions of the zone of learnt addresses. Records are kept as they are sent, one behind the other
 * in a buffer, so that a copy for a transfer is little more than a memcpy. */
#include "plugin/egressfirewall/journal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "dns/resp.h"
#include "plugin/shared/zonecopy.h"

/* An entry of a buffer: type, length of owner, length of data, then both. */
enum { ENTRY_FIXED = 5 };

/* Differences may be larger than the zone by so much: they also save the receiver work. */
enum { SLACK_BYTES = 4096 };

/* The zone is polled: secondaries hear of changes by NOTIFY, or ask again soon. */
enum { SOA_REFRESH_S = 5, SOA_RETRY_S = 5, SOA_EXPIRE_S = 3600, SOA_MINIMUM_S = 0 };

struct version {
	uint32_t from, to;
	struct strbuf deleted, added;
};

struct egressfirewall_journal {
	uint32_t serial;
	size_t max_bytes, bytes;      /* of all versions */
	size_t whole_bytes;	      /* of the zone with the next version */
	VEC(struct version) version;  /* oldest first; each begins where the one before it ends */
	struct strbuf deleted, added; /* of the next one */
};

/* ---- records in buffers ---- */

static void put_record(struct strbuf *out, uint16_t type, const uint8_t *owner, size_t owner_len,
		       const uint8_t *rdata, size_t rdlen)
{
	uint8_t head[ENTRY_FIXED];
	dns_put16(head, type);
	head[2] = (uint8_t)owner_len;
	dns_put16(head + 3, (uint16_t)rdlen);
	strbuf_add(out, head, sizeof(head));
	strbuf_add(out, owner, owner_len);
	strbuf_add(out, rdata, rdlen);
}

static void put_learnt(struct strbuf *out, const struct dns_learnt *learnt)
{
	uint8_t owner[DNS_NAME_MAX], rdata[DNS_LEARNT_RDATA_MAX];
	size_t owner_len = dns_learnt_owner(learnt->object, learnt->name, owner);
	size_t rdlen = dns_learnt_rdata(learnt, rdata);
	put_record(out, DNS_TYPE_TXT, owner, owner_len, rdata, rdlen);
}

/* Name server and mailbox are below the zone; neither has records. */
static const uint8_t ns_label[] = "\2ns", mailbox_label[] = "\12hostmaster";

static size_t put_name(uint8_t *out, const uint8_t *label, size_t label_len)
{
	memcpy(out, label, label_len);
	memcpy(out + label_len, dns_learnt_zone, sizeof(dns_learnt_zone));
	return label_len + sizeof(dns_learnt_zone);
}

/* What put_soa() appends. */
enum {
	SOA_BYTES = ENTRY_FIXED + sizeof(dns_learnt_zone) + sizeof(ns_label) - 1 +
		    sizeof(mailbox_label) - 1 + 2 * sizeof(dns_learnt_zone) + 5 * 4
};

static void put_soa(struct strbuf *out, uint32_t serial)
{
	size_t before = out->n;
	const uint32_t numbers[] = { serial, SOA_REFRESH_S, SOA_RETRY_S, SOA_EXPIRE_S,
				     SOA_MINIMUM_S };
	uint8_t rdata[2 * DNS_NAME_MAX + sizeof(numbers)];
	size_t n = put_name(rdata, ns_label, sizeof(ns_label) - 1);
	n += put_name(rdata + n, mailbox_label, sizeof(mailbox_label) - 1);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++, n += 4)
		dns_put32(rdata + n, numbers[i]);
	put_record(out, DNS_TYPE_SOA, dns_learnt_zone, sizeof(dns_learnt_zone), rdata, n);
	assert(out->n - before == SOA_BYTES);
}

static void put_ns(struct strbuf *out)
{
	uint8_t rdata[DNS_NAME_MAX];
	size_t n = put_name(rdata, ns_label, sizeof(ns_label) - 1);
	put_record(out, DNS_TYPE_NS, dns_learnt_zone, sizeof(dns_learnt_zone), rdata, n);
}

/* ---- copies ---- */

struct buffer_copy {
	struct zone_copy base;
	struct strbuf records;
	size_t at;
};

static int next_record(struct zone_copy *copy, struct dns_rr *ret)
{
	struct buffer_copy *c = CONTAINER_OF(copy, struct buffer_copy, base);
	if (c->at == c->records.n)
		return 0;
	const uint8_t *p = (const uint8_t *)c->records.s + c->at;
	uint16_t rdlen = dns_get16(p + 3);
	*ret = (struct dns_rr){ .type = dns_get16(p),
				.cls = DNS_CLASS_IN,
				.owner = p + ENTRY_FIXED,
				.owner_len = p[2],
				.rdata = p + ENTRY_FIXED + p[2],
				.rdlen = rdlen };
	c->at += (size_t)ENTRY_FIXED + p[2] + rdlen;
	assert(c->at <= c->records.n);
	return 1;
}

static void free_copy(struct zone_copy *copy)
{
	struct buffer_copy *c = CONTAINER_OF(copy, struct buffer_copy, base);
	strbuf_done(&c->records);
	free(c);
}

static struct buffer_copy *new_copy(uint32_t serial)
{
	struct buffer_copy *c = xcalloc(1, sizeof(*c));
	c->base = (struct zone_copy){ .next = next_record, .free = free_copy };
	strbuf_init(&c->records);
	put_soa(&c->records, serial);
	return c;
}

struct zone_copy *egressfirewall_zone_copy_new(uint32_t serial)
{
	struct buffer_copy *c = new_copy(serial);
	put_ns(&c->records);
	return &c->base;
}

void egressfirewall_zone_copy_add(struct zone_copy *copy, const struct dns_learnt *learnt)
{
	put_learnt(&CONTAINER_OF(copy, struct buffer_copy, base)->records, learnt);
}

/* ---- versions ---- */

struct egressfirewall_journal *egressfirewall_journal_new(uint32_t serial, size_t max_bytes)
{
	struct egressfirewall_journal *j = xcalloc(1, sizeof(*j));
	j->serial = serial;
	j->max_bytes = max_bytes;
	strbuf_init(&j->deleted);
	strbuf_init(&j->added);
	return j;
}

static void version_done(struct version *version)
{
	strbuf_done(&version->deleted);
	strbuf_done(&version->added);
}

void egressfirewall_journal_free(struct egressfirewall_journal *journal)
{
	if (journal == NULL)
		return;
	for (size_t i = 0; i < journal->version.n; i++)
		version_done(&journal->version.v[i]);
	vec_done(&journal->version);
	strbuf_done(&journal->deleted);
	strbuf_done(&journal->added);
	free(journal);
}

uint32_t egressfirewall_journal_serial(const struct egressfirewall_journal *journal)
{
	return journal->serial;
}

void egressfirewall_journal_delete(struct egressfirewall_journal *journal,
				   const struct dns_learnt *learnt)
{
	size_t before = journal->deleted.n;
	put_learnt(&journal->deleted, learnt);
	assert(journal->whole_bytes >= journal->deleted.n - before);
	journal->whole_bytes -= journal->deleted.n - before;
}

void egressfirewall_journal_add(struct egressfirewall_journal *journal,
				const struct dns_learnt *learnt)
{
	size_t before = journal->added.n;
	put_learnt(&journal->added, learnt);
	journal->whole_bytes += journal->added.n - before;
}

static size_t version_bytes(const struct version *version)
{
	return sizeof(*version) + version->deleted.n + version->added.n;
}

static void drop_oldest(struct egressfirewall_journal *journal)
{
	size_t n = 0, bytes = journal->bytes;
	for (; n < journal->version.n && bytes > journal->max_bytes; n++) {
		bytes -= version_bytes(&journal->version.v[n]);
		version_done(&journal->version.v[n]);
	}
	if (n == 0)
		return;
	journal->bytes = bytes;
	journal->version.n -= n;
	memmove(journal->version.v, journal->version.v + n,
		journal->version.n * sizeof(journal->version.v[0]));
}

bool egressfirewall_journal_commit(struct egressfirewall_journal *journal, uint32_t serial)
{
	if (journal->deleted.n == 0 && journal->added.n == 0)
		return false;
	/* RFC 1982: serials wrap around. */
	bool newer = serial != journal->serial && serial - journal->serial < UINT32_C(1) << 31;
	struct version next = { .from = journal->serial,
				.to = newer ? serial : journal->serial + 1,
				.deleted = journal->deleted,
				.added = journal->added };
	strbuf_init(&journal->deleted);
	strbuf_init(&journal->added);
	journal->serial = next.to;
	journal->bytes += version_bytes(&next);
	vec_push(&journal->version, next);
	drop_oldest(journal);
	return true;
}

/* Are the versions from `first` on so large that the whole zone is less to send? */
static bool is_larger_than_whole(const struct egressfirewall_journal *journal, size_t first)
{
	size_t bytes = 0;
	for (size_t i = first; i < journal->version.n; i++)
		bytes += journal->version.v[i].deleted.n + journal->version.v[i].added.n +
			 2 * (size_t)SOA_BYTES;
	return bytes > journal->whole_bytes + SLACK_BYTES;
}

struct zone_copy *egressfirewall_journal_since(const struct egressfirewall_journal *journal,
					       uint32_t serial)
{
	size_t first = journal->version.n;
	while (first > 0 && journal->version.v[first - 1].to != serial)
		first--;
	/* The oldest one is known by where its difference begins. */
	if (first == 0 && journal->version.n != 0 && journal->version.v[0].from != serial)
		return NULL;
	if (journal->version.n == 0 && journal->serial != serial)
		return NULL;
	if (is_larger_than_whole(journal, first))
		return NULL;
	struct buffer_copy *c = new_copy(journal->serial);
	for (size_t i = first; i < journal->version.n; i++) {
		const struct version *v = &journal->version.v[i];
		put_soa(&c->records, v->from);
		strbuf_add(&c->records, v->deleted.s, v->deleted.n);
		put_soa(&c->records, v->to);
		strbuf_add(&c->records, v->added.s, v->added.n);
	}
	return &c->base;
}
