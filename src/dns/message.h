/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Building the messages that Fairlead itself sends: a header with one question, and the OPT record
 * behind it. Every query to an upstream, every NOTIFY and every probe is made here; responses are
 * written by dns_resp_encode(), which shares the OPT record. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dns/name.h"
#include "dns/request.h"
#include "dns/types.h"

enum {
	DNS_QUESTION_MAX = DNS_NAME_MAX + 4,
	DNS_QUERY_MAX = DNS_HEADER_BYTES + DNS_QUESTION_MAX, /* without OPT */
};

/* Writes name, type and class to out[DNS_QUESTION_MAX]; returns the length. */
size_t dns_message_question(uint8_t *out, const uint8_t *name, uint16_t type, uint16_t cls);

/* Writes a header that announces one question, and `question`, which has wire form already. `flags`
 * is the whole second word of the header, opcode included. Returns the length. */
size_t dns_message_start(uint8_t *out, uint16_t id, uint16_t flags, const uint8_t *question,
			 size_t question_len);

/* The same for a name and a type of class IN; `out` has room for DNS_QUERY_MAX bytes. */
size_t dns_message_query(uint8_t *out, uint16_t id, uint16_t flags, const uint8_t *name,
			 uint16_t type);

/* Appends an OPT record to the message of `len` bytes and counts it in the header. The caller has
 * room for DNS_OPT_BYTES and the options. Returns the new length. */
size_t dns_message_add_opt(uint8_t *msg, size_t len, const struct dns_opt *opt);

/* Writes an OPT record (RFC 6891 §6.1.2); returns its length. Inline: every reply to a client with
 * EDNS has one. */
static inline size_t dns_message_put_opt(uint8_t *out, const struct dns_opt *opt)
{
	out[0] = 0; /* owned by the root */
	dns_put16(out + 1, DNS_TYPE_OPT);
	dns_put16(out + 3, opt->udp_size);
	out[5] = opt->ext_rcode;
	out[6] = opt->version;
	dns_put16(out + 7, (uint16_t)((opt->dnssec_ok ? 0x8000 : 0) | opt->z));
	dns_put16(out + 9, opt->options_len);
	if (opt->options_len != 0)
		memcpy(out + DNS_OPT_BYTES, opt->options, opt->options_len);
	return DNS_OPT_BYTES + (size_t)opt->options_len;
}
