/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why an answer's TSIG was not accepted, for people. */
#pragma once

#include "base/err_text.h"
#include "dns/tsig/tsig.h"

/* A sentence on a report of dns_tsig_verify_answer() that is not DNS_TSIG_OK: what happened, to
 * which key, what to do. `now_s` is what was passed there. */
void dns_tsig_explain(const struct dns_tsig_key *key, const struct dns_tsig_report *report,
		      uint64_t now_s, struct err_text out);
