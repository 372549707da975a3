/* SPDX-License-Identifier: GPL-3.0-or-later */
/* MACs of a conversation, which client and server compute alike. `tsig` has its key. */
#pragma once

#include "dns/tsig/tsig.h"

/* Appends the record, which has everything but the MAC and the original id, with them. New
 * length, or ERR_SPACE. */
MUST_CHECK int tsig_mac_append(struct dns_tsig *tsig, uint8_t *msg, size_t len, size_t cap,
			       struct dns_tsig_record *record);
/* OK or what is wrong with the message's record, in the RFC's order (section 5.2): the size of
 * the MAC (MALFORMED), the MAC, the time, our policy on truncation. */
enum dns_tsig_result tsig_mac_check(struct dns_tsig *tsig, const uint8_t *msg,
				    const struct dns_tsig_record *record, uint64_t now_s);
/* A message without TSIG: PENDING, but the first one must have it, and then at least every
 * hundredth (UNSIGNED). */
enum dns_tsig_result tsig_mac_pass(struct dns_tsig *tsig, const uint8_t *msg, size_t len);
