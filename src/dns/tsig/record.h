/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The TSIG record on the wire (RFC 8945 section 4.2): finding it at the end of a message, and
 * appending one. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/crypto/hmac.h"
#include "dns/name.h"
#include "dns/tsig/key.h"

enum {
	DNS_TSIG_TIME_BYTES = 6, /* seconds since 1970 */
	/* Room that the longest record needs which we append. */
	DNS_TSIG_RECORD_MAX = DNS_NAME_MAX + 10 + DNS_TSIG_ALGORITHM_NAME + DNS_TSIG_TIME_BYTES +
			      10 + HMAC_MAX_BYTES + DNS_TSIG_TIME_BYTES,
};

struct dns_tsig_record {
	size_t start;		    /* its offset: the message that is signed ends here */
	uint8_t name[DNS_NAME_MAX]; /* lower case, as the digest wants it */
	uint8_t algorithm[DNS_NAME_MAX];
	uint64_t time_s; /* when it was signed: 48 bits */
	uint16_t fudge;	 /* seconds that it may be off */
	const uint8_t *mac;
	uint16_t mac_n;
	uint16_t original_id; /* of the message when it was signed */
	uint16_t error;	      /* enum dns_tsig_error */
	const uint8_t *other;
	uint16_t other_n;
};

/* 1 and the record (pointers into msg). 0 if the message has none; only `start` is set then, to
 * its last record's end. ERR_PARSE if the message or the record is malformed, if there is a TSIG
 * record anywhere but at the end, or if bytes follow it. */
MUST_CHECK int dns_tsig_record_find(const uint8_t *msg, size_t len, struct dns_tsig_record *ret);
/* Appends the record, of which `start` is not read, and counts it. The message's new length, or
 * ERR_SPACE (`cap` bytes, or 65535). */
MUST_CHECK int dns_tsig_record_append(uint8_t *msg, size_t len, size_t cap,
				      const struct dns_tsig_record *record);

/* Times are 48 bits wide. */
uint64_t dns_tsig_record_get_time(const uint8_t *pos);
void dns_tsig_record_put_time(uint8_t *pos, uint64_t time_s);
