/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The records of a response of either form, one after the other, without opening or copying: for
 * those who only look, or change bytes in their place. OPT is passed over. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dns/resp.h"

struct dns_rrwalk {
	const struct dns_resp *resp;
	enum dns_section section; /* where the next record is looked for */
	unsigned left;		  /* wire form: records of that section not yet read */
	size_t at;		  /* wire form: offset of the next one; 0: broken off */
	struct dns_rr *next;	  /* open form */

	/* The record at hand. Names inside rdata may be compressed in the wire form. */
	enum dns_section of;
	uint16_t type, cls, rdlen;
	uint32_t ttl;
	const uint8_t *rdata;
	size_t start, end; /* wire form: bytes of the message from owner to rdata */
	struct dns_rr *rr; /* open form; else NULL */
};

void dns_rrwalk_init(struct dns_rrwalk *rrwalk, const struct dns_resp *resp);
/* False at the end. */
bool dns_rrwalk_next(struct dns_rrwalk *rrwalk);
/* Owner of the record at hand, uncompressed; its length, or ERR_PARSE. */
MUST_CHECK int dns_rrwalk_owner(const struct dns_rrwalk *rrwalk, uint8_t ret[DNS_NAME_MAX]);
