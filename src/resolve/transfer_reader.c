/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The records of a zone transfer, in the order in which RFC 5936 and RFC 1995 send them. */
#include <assert.h>

#include "base/err.h"
#include "dns/request.h"
#include "dns/types.h"
#include "resolve/transfer_reader_priv.h"

enum { QUESTION_FIXED = 4, RR_FIXED = 10, SOA_NUMBERS = 20 };

/* One record, and where the next one begins. */
struct item {
	uint8_t owner[DNS_NAME_MAX];
	struct resolve_transfer_record record;
	size_t end;
};

static int fail_parse(struct err_text reterr, const char *what)
{
	err_text_set(reterr, "the transfer is malformed: %s", what);
	return ERR_PARSE;
}

/* ---- messages ---- */

static int check_rcode(const uint8_t *msg, struct err_text reterr)
{
	unsigned rcode = msg[3] & 0xf;
	if (rcode == DNS_RCODE_NOERROR)
		return 0;
	err_text_set(reterr, "the server refuses the transfer (rcode %u)", rcode);
	return rcode == DNS_RCODE_NOTIMP || rcode == DNS_RCODE_FORMERR ? ERR_UNSUPPORTED
								       : ERR_DENIED;
}

static int check_header(const struct transfer_reader *reader, const uint8_t *msg, size_t len,
			struct err_text reterr)
{
	if (len < DNS_HEADER_BYTES)
		return fail_parse(reterr, "a message without header");
	uint16_t flags = dns_get16(msg + 2);
	if (dns_get16(msg) != reader->id || (flags & DNS_FLAG_QR) == 0 || (flags & 0x7800) != 0)
		return fail_parse(reterr, "a message that is no answer to the request");
	if ((flags & DNS_FLAG_TC) != 0)
		return fail_parse(reterr, "a truncated message");
	return check_rcode(msg, reterr);
}

/* Offset of the first record. The first message repeats the question, others may leave it out. */
static int skip_question(const struct transfer_reader *reader, const uint8_t *msg, size_t len)
{
	uint8_t name[DNS_NAME_MAX];
	if (dns_get16(msg + 4) == 0)
		return DNS_HEADER_BYTES;
	int at = dns_name_skip(msg, len, DNS_HEADER_BYTES);
	if (dns_get16(msg + 4) != 1 || at < 0 || (size_t)at + QUESTION_FIXED > len ||
	    dns_name_unpack(msg, len, DNS_HEADER_BYTES, name) < 0 ||
	    !dns_name_eq(name, reader->zone))
		return ERR_PARSE;
	return at + QUESTION_FIXED;
}

static int read_item(const uint8_t *msg, size_t len, size_t at, struct item *ret)
{
	int fixed = dns_name_skip(msg, len, at);
	if (fixed < 0 || (size_t)fixed + RR_FIXED > len ||
	    dns_name_unpack(msg, len, at, ret->owner) < 0)
		return ERR_PARSE;
	const uint8_t *data = msg + fixed;
	ret->record = (struct resolve_transfer_record){ .owner = ret->owner,
							.type = dns_get16(data),
							.ttl = dns_get32(data + 4),
							.rdata = data + RR_FIXED,
							.rdata_n = dns_get16(data + 8) };
	ret->end = (size_t)fixed + RR_FIXED + ret->record.rdata_n;
	return ret->end <= len && dns_get16(data + 2) == DNS_CLASS_IN ? 0 : ERR_PARSE;
}

/* ---- records ---- */

/* Is it the zone's SOA record? Its names may be compressed, its numbers are at its end. */
static bool is_zone_soa(const struct transfer_reader *reader, const struct item *item,
			uint32_t *ret_serial)
{
	const struct resolve_transfer_record *record = &item->record;
	if (record->type != DNS_TYPE_SOA || record->rdata_n < SOA_NUMBERS + 2 ||
	    !dns_name_eq(item->owner, reader->zone))
		return false;
	*ret_serial = dns_get32(record->rdata + record->rdata_n - SOA_NUMBERS);
	return true;
}

static int take_soa(struct transfer_reader *reader, uint32_t serial)
{
	switch (reader->phase) {
	case TRANSFER_FIRST:
		reader->new_serial = serial;
		reader->phase = TRANSFER_SECOND;
		return 0;
	case TRANSFER_SECOND:
		if (serial == reader->new_serial)
			reader->phase = TRANSFER_COMPLETE; /* a zone without other records */
		else if (reader->incremental && serial == reader->serial)
			reader->phase = TRANSFER_DELETIONS;
		else
			return ERR_PARSE;
		return 0;
	case TRANSFER_WHOLE:
		reader->phase = TRANSFER_COMPLETE;
		return serial == reader->new_serial ? 0 : ERR_PARSE;
	case TRANSFER_DELETIONS:
		reader->at_serial = serial;
		reader->phase = TRANSFER_ADDITIONS;
		return 0;
	case TRANSFER_ADDITIONS:
		/* Each difference begins with the version that the one before led to. */
		reader->phase =
			serial == reader->new_serial ? TRANSFER_COMPLETE : TRANSFER_DELETIONS;
		return serial == reader->at_serial ? 0 : ERR_PARSE;
	case TRANSFER_COMPLETE:
		break;
	}
	return ERR_PARSE;
}

static int pass_record(struct transfer_reader *reader, struct item *item)
{
	if (reader->phase == TRANSFER_SECOND)
		reader->phase = TRANSFER_WHOLE;
	if (reader->phase == TRANSFER_FIRST || reader->phase == TRANSFER_COMPLETE ||
	    !dns_name_is_below(item->owner, reader->zone))
		return ERR_PARSE;
	item->record.is_deletion = reader->phase == TRANSFER_DELETIONS;
	return reader->record(reader->ctx, &item->record);
}

static int take_records(struct transfer_reader *reader, const uint8_t *msg, size_t len, size_t at)
{
	unsigned left = dns_get16(msg + 6);
	struct item item;
	uint32_t serial;
	for (; left > 0; left--, at = item.end) {
		if (read_item(msg, len, at, &item) < 0)
			return ERR_PARSE;
		if (++reader->records > reader->max_records)
			return ERR_LIMIT;
		int r = is_zone_soa(reader, &item, &serial) ? take_soa(reader, serial)
							    : pass_record(reader, &item);
		if (r < 0)
			return r;
	}
	return 0;
}

/* An IXFR answer with nothing but the SOA record: the request had this version, or a newer one (RFC 1995
 * section 2), by the arithmetic of serials (RFC 1982). */
static bool has_nothing_new(const struct transfer_reader *reader)
{
	return reader->incremental && reader->phase == TRANSFER_SECOND &&
	       reader->serial - reader->new_serial < UINT32_C(1) << 31;
}

int transfer_reader_feed(struct transfer_reader *reader, const uint8_t *msg, size_t len,
			 struct err_text reterr)
{
	assert(reader->phase != TRANSFER_COMPLETE);
	int r = check_header(reader, msg, len, reterr);
	if (r < 0)
		return r;
	int at = skip_question(reader, msg, len);
	reader->bytes += len;
	if (at < 0)
		return fail_parse(reterr, "another question");
	if (dns_get16(msg + 6) == 0)
		return fail_parse(reterr, "a message without records");
	r = reader->bytes > reader->max_bytes ? ERR_LIMIT
					      : take_records(reader, msg, len, (size_t)at);
	if (r == ERR_LIMIT)
		err_text_set(reterr, "the transfer has more than %zu records or %zu bytes",
			     reader->max_records, reader->max_bytes);
	else if (r == ERR_PARSE)
		return fail_parse(reterr, "a record that cannot be there");
	if (r < 0)
		return r;
	reader->is_current = has_nothing_new(reader);
	if (reader->is_current)
		reader->phase = TRANSFER_COMPLETE;
	return reader->phase == TRANSFER_COMPLETE;
}
