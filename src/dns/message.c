/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queries and their OPT record, written to the wire. */
#include "dns/message.h"

enum { QDCOUNT_AT = 4, ARCOUNT_AT = 10 };

size_t dns_message_question(uint8_t *out, const uint8_t *name, uint16_t type, uint16_t cls)
{
	size_t n = dns_name_len(name);
	memcpy(out, name, n);
	dns_put16(out + n, type);
	dns_put16(out + n + 2, cls);
	return n + 4;
}

static void put_header(uint8_t *out, uint16_t id, uint16_t flags)
{
	memset(out, 0, DNS_HEADER_BYTES);
	dns_put16(out, id);
	dns_put16(out + 2, flags);
	dns_put16(out + QDCOUNT_AT, 1);
}

size_t dns_message_start(uint8_t *out, uint16_t id, uint16_t flags, const uint8_t *question,
			 size_t question_len)
{
	put_header(out, id, flags);
	memcpy(out + DNS_HEADER_BYTES, question, question_len);
	return DNS_HEADER_BYTES + question_len;
}

size_t dns_message_query(uint8_t *out, uint16_t id, uint16_t flags, const uint8_t *name,
			 uint16_t type)
{
	put_header(out, id, flags);
	return DNS_HEADER_BYTES +
	       dns_message_question(out + DNS_HEADER_BYTES, name, type, DNS_CLASS_IN);
}

size_t dns_message_add_opt(uint8_t *msg, size_t len, const struct dns_opt *opt)
{
	dns_put16(msg + ARCOUNT_AT, (uint16_t)(dns_get16(msg + ARCOUNT_AT) + 1));
	return len + dns_message_put_opt(msg + len, opt);
}
