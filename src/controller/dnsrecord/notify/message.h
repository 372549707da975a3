/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NOTIFY messages (RFC 1996): what one says, and how it is answered. No I/O.
 *
 * A NOTIFY is a hint and no more: whoever sent it, the serial is asked of the primary. So a NOTIFY without a
 * signature counts, and so does one whose key is not known here or whose signature is wrong; it is answered as
 * RFC 8945 wants it, though. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dns/message.h"
#include "dns/name.h"
#include "dns/request.h"
#include "dns/tsig/record.h"

struct dns_tsig_key;

enum {
	DNSRECORD_NOTIFY_MAX = 2048, /* bytes of a message; longer ones are not read */
	DNSRECORD_NOTIFY_REPLY_MAX = DNS_QUERY_MAX + DNS_OPT_BYTES + DNS_TSIG_RECORD_MAX,
};

enum dnsrecord_notify_result {
	DNSRECORD_NOTIFY_ACCEPTED, /* the zone may have changed */
	DNSRECORD_NOTIFY_UNKNOWN_ZONE,
	DNSRECORD_NOTIFY_BAD_SIGNATURE, /* it may, too */
	DNSRECORD_NOTIFY_REFUSED,	/* it is malformed, or no NOTIFY that a zone has changed */
};

struct dnsrecord_notify {
	struct dns_request request; /* points into the message */
	uint8_t rcode;		    /* NOERROR: a NOTIFY that the zone has changed */
	char zone
		[DNS_NAME_TEXT_MAX]; /* lower case, without the final dot; "": see rcode, or the root */
};

/* False: it is not answered at all. `msg` has room for DNS_REQUEST_SLACK bytes after its end. */
bool dnsrecord_notify_read(uint8_t *msg, size_t len, struct dnsrecord_notify *ret);

/* What is known about its zone. */
struct dnsrecord_notify_zone {
	bool is_ours; /* record sets of ours are in it */
	const struct dns_tsig_key *keys;
	size_t n_keys;
	uint64_t now_s; /* wall clock */
};
/* Writes the answer and its length. */
enum dnsrecord_notify_result dnsrecord_notify_answer(const struct dnsrecord_notify *notify,
						     const struct dnsrecord_notify_zone *zone,
						     uint8_t out[DNSRECORD_NOTIFY_REPLY_MAX],
						     size_t *ret_len);
