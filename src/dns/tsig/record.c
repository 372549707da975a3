/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The TSIG record on the wire. It is the last record of a message, and nothing may follow it:
 * what does would not be signed. */
#include "dns/tsig/record.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "dns/request.h"
#include "dns/types.h"

enum {
	FIXED_BYTES = 10,	/* type, class, TTL, length of the data */
	TIME_TO_MAC_BYTES = 10, /* time, fudge, length of the MAC */
	AFTER_MAC_BYTES = 6,	/* original id, error, length of other data */
	MESSAGE_MAX = UINT16_MAX,
};

uint64_t dns_tsig_record_get_time(const uint8_t *pos)
{
	return (uint64_t)dns_get16(pos) << 32 | dns_get32(pos + 2);
}

void dns_tsig_record_put_time(uint8_t *pos, uint64_t time_s)
{
	dns_put16(pos, (uint16_t)(time_s >> 32));
	dns_put32(pos + 2, (uint32_t)time_s);
}

/* An uncompressed name that ends inside data[len], lower-cased; its length, or ERR_PARSE. */
static int read_plain_name(const uint8_t *data, size_t len, uint8_t out[DNS_NAME_MAX])
{
	size_t at = 0;
	while (at < len && data[at] != 0) {
		if (data[at] > DNS_LABEL_MAX)
			return ERR_PARSE;
		at += 1U + data[at];
	}
	if (at >= len || at >= DNS_NAME_MAX)
		return ERR_PARSE;
	return (int)dns_name_lower(data, out);
}

static int read_data(const uint8_t *data, size_t len, struct dns_tsig_record *record)
{
	int name_n = read_plain_name(data, len, record->algorithm);
	if (name_n < 0 || len - (size_t)name_n < TIME_TO_MAC_BYTES)
		return ERR_PARSE;
	const uint8_t *pos = data + name_n;
	size_t left = len - (size_t)name_n - TIME_TO_MAC_BYTES;
	record->time_s = dns_tsig_record_get_time(pos);
	record->fudge = dns_get16(pos + DNS_TSIG_TIME_BYTES);
	record->mac_n = dns_get16(pos + DNS_TSIG_TIME_BYTES + 2);
	record->mac = pos + TIME_TO_MAC_BYTES;
	if (left < (size_t)record->mac_n + AFTER_MAC_BYTES)
		return ERR_PARSE;
	pos = record->mac + record->mac_n;
	record->original_id = dns_get16(pos);
	record->error = dns_get16(pos + 2);
	record->other_n = dns_get16(pos + 4);
	record->other = pos + AFTER_MAC_BYTES;
	return left == (size_t)record->mac_n + AFTER_MAC_BYTES + record->other_n ? 0 : ERR_PARSE;
}

/* Where the record at `off` has its type, and where it ends. */
static int skip_record(const uint8_t *msg, size_t len, size_t off, size_t *ret_fixed)
{
	int at = dns_name_skip(msg, len, off);
	if (at < 0 || (size_t)at + FIXED_BYTES > len)
		return ERR_PARSE;
	size_t end = (size_t)at + FIXED_BYTES + dns_get16(msg + at + 8);
	*ret_fixed = (size_t)at;
	return end <= len ? (int)end : ERR_PARSE;
}

static int skip_questions(const uint8_t *msg, size_t len)
{
	size_t off = DNS_HEADER_BYTES;
	for (unsigned left = dns_get16(msg + 4); left > 0; left--) {
		int at = dns_name_skip(msg, len, off);
		if (at < 0 || (size_t)at + 4 > len)
			return ERR_PARSE;
		off = (size_t)at + 4;
	}
	return (int)off;
}

/* The last record of the message, whose fixed part is at `fixed`. Class and TTL have one value
 * only. */
static int read_record(const uint8_t *msg, size_t len, size_t fixed, struct dns_tsig_record *record)
{
	uint8_t name[DNS_NAME_MAX];
	if (dns_get16(msg + fixed + 2) != DNS_CLASS_ANY || dns_get32(msg + fixed + 4) != 0 ||
	    dns_name_unpack(msg, len, record->start, name) < 0 ||
	    read_data(msg + fixed + FIXED_BYTES, dns_get16(msg + fixed + 8), record) < 0)
		return ERR_PARSE;
	dns_name_lower(name, record->name);
	return 1;
}

int dns_tsig_record_find(const uint8_t *msg, size_t len, struct dns_tsig_record *ret)
{
	if (len < DNS_HEADER_BYTES)
		return ERR_PARSE;
	int off = skip_questions(msg, len);
	unsigned additional = dns_get16(msg + 10);
	unsigned left = (unsigned)dns_get16(msg + 6) + dns_get16(msg + 8) + additional;
	for (; left > 0 && off >= 0; left--) {
		size_t fixed;
		ret->start = (size_t)off;
		off = skip_record(msg, len, (size_t)off, &fixed);
		if (off < 0)
			return ERR_PARSE;
		if (dns_get16(msg + fixed) != DNS_TYPE_TSIG)
			continue;
		bool last = left == 1 && additional > 0 && (size_t)off == len;
		return last ? read_record(msg, len, fixed, ret) : ERR_PARSE;
	}
	if (off < 0)
		return ERR_PARSE;
	ret->start = (size_t)off;
	return 0;
}

static size_t put_name(uint8_t *out, const uint8_t *name)
{
	size_t len = dns_name_len(name);
	memcpy(out, name, len);
	return len;
}

int dns_tsig_record_append(uint8_t *msg, size_t len, size_t cap,
			   const struct dns_tsig_record *record)
{
	size_t data_n = dns_name_len(record->algorithm) + TIME_TO_MAC_BYTES + record->mac_n +
			AFTER_MAC_BYTES + record->other_n;
	size_t end = len + dns_name_len(record->name) + FIXED_BYTES + data_n;
	assert(len >= DNS_HEADER_BYTES);
	if (end > cap || end > MESSAGE_MAX || dns_get16(msg + 10) == UINT16_MAX)
		return ERR_SPACE;
	uint8_t *pos = msg + len;
	pos += put_name(pos, record->name);
	dns_put16(pos, DNS_TYPE_TSIG);
	dns_put16(pos + 2, DNS_CLASS_ANY);
	dns_put32(pos + 4, 0);
	dns_put16(pos + 8, (uint16_t)data_n);
	pos += FIXED_BYTES;
	pos += put_name(pos, record->algorithm);
	dns_tsig_record_put_time(pos, record->time_s);
	dns_put16(pos + DNS_TSIG_TIME_BYTES, record->fudge);
	dns_put16(pos + DNS_TSIG_TIME_BYTES + 2, record->mac_n);
	pos += TIME_TO_MAC_BYTES;
	if (record->mac_n != 0)
		memcpy(pos, record->mac, record->mac_n);
	pos += record->mac_n;
	dns_put16(pos, record->original_id);
	dns_put16(pos + 2, record->error);
	dns_put16(pos + 4, record->other_n);
	if (record->other_n != 0)
		memcpy(pos + AFTER_MAC_BYTES, record->other, record->other_n);
	assert(pos + AFTER_MAC_BYTES + record->other_n == msg + end);
	dns_put16(msg + 10, (uint16_t)(dns_get16(msg + 10) + 1));
	return (int)end;
}
