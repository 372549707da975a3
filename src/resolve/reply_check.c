/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Is a message a reply to our question, and is it whole? Reads without copying; nothing that a
 * later reader would follow into a loop or past the end gets through. */
#include "resolve/reply_check_priv.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/slice.h"
#include "dns/resp.h"
#include "resolve/types_priv.h"

enum { OPCODE_BITS = 0x7800, RR_FIXED = 10, POINTER = 0xc0 };

int reply_check_question(const uint8_t *query, size_t len)
{
	if (len <= DNS_HEADER_BYTES || dns_get16(query + 4) != 1)
		return ERR_PARSE;
	size_t at = DNS_HEADER_BYTES;
	while (query[at] != 0) {
		bool label = query[at] <= DNS_LABEL_MAX;
		at += 1U + query[at];
		if (!label || at >= len || at - DNS_HEADER_BYTES >= DNS_NAME_MAX)
			return ERR_PARSE;
	}
	at += 5;
	return at <= len ? (int)(at - DNS_HEADER_BYTES) : ERR_PARSE;
}

bool reply_check_is_update(const uint8_t *query)
{
	return (dns_get16(query + 2) & OPCODE_BITS) == DNS_OPCODE_UPDATE << 11;
}

static_assert(RESOLVE_CASE_BYTES * 8 >= DNS_NAME_MAX, "the longest name has its bits");

void resolve_flip_case(uint8_t *data, size_t len, uint8_t bits[RESOLVE_CASE_BYTES])
{
	assert(len <= DNS_NAME_MAX);
	for (size_t i = 0; i < len; i++) {
		uint8_t bit = (uint8_t)(1 << (i % 8));
		if ((bits[i / 8] & bit) == 0)
			continue;
		/* Length bytes are at most 63 and so no letters. */
		if ((uint8_t)((data[i] | 0x20) - 'a') < 26)
			data[i] ^= 0x20;
		else
			bits[i / 8] &= (uint8_t)~bit;
	}
}

static bool same_name(const uint8_t *left, const uint8_t *right, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (left[i] != right[i] &&
		    ((left[i] ^ right[i]) != 0x20 || (uint8_t)((left[i] | 0x20) - 'a') >= 26))
			return false;
	}
	return true;
}

static bool same_question(const uint8_t *left, const uint8_t *right, size_t len, bool exact)
{
	if (memcmp(left, right, len) == 0)
		return true;
	return !exact && memcmp(left + len - 4, right + len - 4, 4) == 0 &&
	       same_name(left, right, len - 4);
}

enum { END_MISSING = -1, END_BAD = -2 };

/* Offset behind the name at `off`, or END_x. What a pointer leads to must lie before the labels it
 * follows, all of it: so there is no loop, and nothing is read that is not part of the message. */
static int name_end(const uint8_t *msg, size_t size, size_t off)
{
	size_t part = off;
	size_t len = 0;
	int end = 0;
	for (;;) {
		if (off >= size)
			return end != 0 ? END_BAD : END_MISSING;
		unsigned c = msg[off];
		if (c == 0)
			return end != 0 ? end : (int)off + 1;
		if (c < POINTER) {
			len += c + 1;
			if (c > DNS_LABEL_MAX || len >= DNS_NAME_MAX)
				return END_BAD;
			off += c + 1;
			continue;
		}
		if (off + 2 > size)
			return end != 0 ? END_BAD : END_MISSING;
		if (end == 0)
			end = (int)off + 2;
		size_t to = dns_get16(msg + off) & 0x3fff;
		if (to == DNS_HEADER_BYTES && len == 0)
			return end; /* the question's name, which was compared with ours */
		if (to >= part || to < DNS_HEADER_BYTES)
			return END_BAD;
		size = part;
		off = part = to;
	}
}

static bool options_whole(const uint8_t *data, size_t size)
{
	while (size >= 4 && dns_get16(data + 2) <= size - 4) {
		size_t len = 4U + dns_get16(data + 2);
		data += len;
		size -= len;
	}
	return size == 0;
}

/* Offset behind the record at `off`, or END_x. */
static int record_end(const uint8_t *msg, size_t len, size_t off)
{
	int at = name_end(msg, len, off);
	if (at < 0)
		return at;
	if ((size_t)at + RR_FIXED > len)
		return END_MISSING;
	uint16_t type = dns_get16(msg + at);
	uint16_t rdlen = dns_get16(msg + at + 8);
	size_t rdata = (size_t)at + RR_FIXED;
	if (rdata + rdlen > len || (type == DNS_TYPE_OPT && !options_whole(msg + rdata, rdlen)))
		return END_MISSING;
	bool fine = type == DNS_TYPE_A	    ? rdlen == 4 || rdlen == 0
		    : type == DNS_TYPE_AAAA ? rdlen == 16 || rdlen == 0
					    : dns_rdata_valid(msg, rdata, rdlen, type);
	return fine ? (int)(rdata + rdlen) : END_BAD;
}

enum reply_check_result reply_check(const uint8_t *query, size_t question_n, const uint8_t *reply,
				    size_t len, bool exact, size_t *ret_n)
{
	if (len < DNS_HEADER_BYTES || (reply[2] & 0x80) == 0 ||
	    ((dns_get16(reply + 2) ^ dns_get16(query + 2)) & OPCODE_BITS) != 0)
		return REPLY_MISMATCH;
	if (dns_get16(reply + 4) == 0 && reply_check_is_update(query) && !exact)
		question_n = 0;
	else if (dns_get16(reply + 4) != 1 || len < DNS_HEADER_BYTES + question_n ||
		 !same_question(query + DNS_HEADER_BYTES, reply + DNS_HEADER_BYTES, question_n,
				exact))
		return REPLY_MISMATCH;
	size_t at = DNS_HEADER_BYTES + question_n;
	uint32_t records =
		(uint32_t)dns_get16(reply + 6) + dns_get16(reply + 8) + dns_get16(reply + 10);
	for (; records > 0; records--) {
		int end = record_end(reply, len, at);
		if (end < 0)
			return end == END_MISSING ? REPLY_CUT : REPLY_GARBLED;
		at = (size_t)end;
	}
	*ret_n = at;
	return REPLY_OK;
}
