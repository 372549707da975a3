/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TSIG for servers: verifying a request, signing its answer. dns/tsig.h has the words and the
 * types. */
#pragma once

#include "dns/tsig/tsig.h"

/* `tsig` is zero; it refers to one of the keys afterwards. Of several keys with one name the one that fits
 * counts; if none does, the last one decides about the error. With BADKEY, BADSIG, BADTIME and
 * BADTRUNC the answer has rcode NOTAUTH and goes through dns_tsig_sign_answer(), which knows
 * what the record must say; with MALFORMED it is a FORMERR without TSIG. */
struct dns_tsig_report dns_tsig_verify_request(struct dns_tsig *tsig,
					       const struct dns_tsig_key *keys, size_t n_keys,
					       const uint8_t *msg, size_t len, uint64_t now_s);
/* Appends the TSIG record to the next message of the answer to a request that had one; new
 * length, or ERR_SPACE. */
MUST_CHECK int dns_tsig_sign_answer(struct dns_tsig *tsig, uint8_t *msg, size_t len, size_t cap,
				    uint64_t now_s);
