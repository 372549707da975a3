/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing the sections of an UPDATE. */
#include "dns/update.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "dns/message.h"
#include "dns/request.h"
#include "dns/types.h"
#include "dns/update_test.h"

enum {
	FIXED_BYTES = 10, /* type, class, TTL, length of the data */
	POINTER_BYTES = 2,
	POINTER_BITS = 0xc000,
	POINTER_MAX = 0x3fff,
	PREREQUISITES_AT = 6, /* counts in the header */
	CHANGES_AT = 8,
	OPCODE_SHIFT = 11,
};

struct record {
	const uint8_t *name;
	uint16_t type, cls;
	uint32_t ttl;
	struct dns_update_rdata rdata;
};

int dns_update_start(struct dns_update *update, uint8_t *msg, size_t cap, const uint8_t *zone,
		     uint16_t zone_class)
{
	uint8_t question[DNS_QUESTION_MAX];
	size_t len = dns_message_question(question, zone, DNS_TYPE_SOA, zone_class);
	if (DNS_HEADER_BYTES + len > cap)
		return ERR_SPACE;
	*update = (struct dns_update){ .msg = msg,
				       .cap = MIN(cap, UINT16_MAX),
				       .zone = msg + DNS_HEADER_BYTES };
	update->n = dns_message_start(msg, 0, DNS_OPCODE_UPDATE << OPCODE_SHIFT, question, len);
	return 0;
}

static uint16_t zone_class(const struct dns_update *update)
{
	return dns_get16(update->zone + dns_name_len(update->zone) + 2);
}

/* The last record had the same owner, and a pointer reaches it. */
static bool is_last_owner(const struct dns_update *update, const uint8_t *name)
{
	uint8_t last[DNS_NAME_MAX];
	return update->last_owner != 0 &&
	       dns_name_unpack(update->msg, update->n, update->last_owner, last) >= 0 &&
	       dns_name_eq(last, name);
}

/* The owner as it is written at the message's end, into out; its length. *ret_at: where the next
 * record may point to for the same owner; 0: nowhere. */
static size_t compress_owner(const struct dns_update *update, const uint8_t *name,
			     uint8_t out[DNS_NAME_MAX], size_t *ret_at)
{
	size_t zone_n = dns_name_len(update->zone), own_n = dns_name_len(name) - zone_n;
	*ret_at = own_n == 0 ? DNS_HEADER_BYTES : update->n <= POINTER_MAX ? update->n : 0;
	if (own_n != 0 && is_last_owner(update, name)) {
		*ret_at = update->last_owner;
		dns_put16(out, (uint16_t)(POINTER_BITS | update->last_owner));
		return POINTER_BYTES;
	}
	memcpy(out, name, own_n);
	if (zone_n < POINTER_BYTES) { /* the root */
		out[own_n] = 0;
		return own_n + 1;
	}
	dns_put16(out + own_n, POINTER_BITS | DNS_HEADER_BYTES);
	return own_n + POINTER_BYTES;
}

static void write_counts(const struct dns_update *update)
{
	dns_put16(update->msg + PREREQUISITES_AT, update->n_prerequisites);
	dns_put16(update->msg + CHANGES_AT, update->n_changes);
}

/* Appends the record and counts it. */
static int append_record(struct dns_update *update, const struct record *record, uint16_t *count)
{
	uint8_t owner[DNS_NAME_MAX];
	if (!dns_name_is_below(record->name, update->zone))
		return ERR_RANGE;
	size_t owner_at, owner_n = compress_owner(update, record->name, owner, &owner_at);
	size_t rdata_n = record->rdata.n;
	if (*count == UINT16_MAX || rdata_n > UINT16_MAX ||
	    update->cap - update->n < owner_n + FIXED_BYTES + rdata_n)
		return ERR_SPACE;
	uint8_t *pos = update->msg + update->n;
	memcpy(pos, owner, owner_n);
	update->last_owner = owner_at;
	pos += owner_n;
	dns_put16(pos, record->type);
	dns_put16(pos + 2, record->cls);
	dns_put32(pos + 4, record->ttl);
	dns_put16(pos + 8, (uint16_t)rdata_n);
	if (rdata_n != 0)
		memcpy(pos + FIXED_BYTES, record->rdata.p, rdata_n);
	update->n += owner_n + FIXED_BYTES + rdata_n;
	++*count;
	write_counts(update);
	return 0;
}

void dns_update_rewind(struct dns_update *update, const struct dns_update *saved)
{
	assert(saved->msg == update->msg && saved->n <= update->n);
	*update = *saved;
	write_counts(update);
}

static int add_prerequisite(struct dns_update *update, const struct record *record)
{
	assert(update->n_changes == 0);
	return append_record(update, record, &update->n_prerequisites);
}

static int add_change(struct dns_update *update, const struct record *record)
{
	return append_record(update, record, &update->n_changes);
}

/* ---- prerequisites: classes ANY and NONE stand for existing and missing ---- */

int dns_update_require_name(struct dns_update *update, const uint8_t *name)
{
	return dns_update_require_rrset(update, name, DNS_TYPE_ANY);
}

int dns_update_forbid_name(struct dns_update *update, const uint8_t *name)
{
	return dns_update_forbid_rrset(update, name, DNS_TYPE_ANY);
}

int dns_update_require_rrset(struct dns_update *update, const uint8_t *name, uint16_t type)
{
	return add_prerequisite(update, &(struct record){ name, type, DNS_CLASS_ANY, 0, { 0 } });
}

int dns_update_forbid_rrset(struct dns_update *update, const uint8_t *name, uint16_t type)
{
	return add_prerequisite(update, &(struct record){ name, type, DNS_CLASS_NONE, 0, { 0 } });
}

int dns_update_require_record(struct dns_update *update, const uint8_t *name, uint16_t type,
			      struct dns_update_rdata rdata)
{
	return add_prerequisite(update,
				&(struct record){ name, type, zone_class(update), 0, rdata });
}

/* ---- changes ---- */

int dns_update_add(struct dns_update *update, const uint8_t *name, uint16_t type, uint32_t ttl,
		   struct dns_update_rdata rdata)
{
	return add_change(update, &(struct record){ name, type, zone_class(update), ttl, rdata });
}

int dns_update_delete_rrset(struct dns_update *update, const uint8_t *name, uint16_t type)
{
	return add_change(update, &(struct record){ name, type, DNS_CLASS_ANY, 0, { 0 } });
}

int dns_update_delete_name(struct dns_update *update, const uint8_t *name)
{
	return dns_update_delete_rrset(update, name, DNS_TYPE_ANY);
}

int dns_update_delete_record(struct dns_update *update, const uint8_t *name, uint16_t type,
			     struct dns_update_rdata rdata)
{
	return add_change(update, &(struct record){ name, type, DNS_CLASS_NONE, 0, rdata });
}
