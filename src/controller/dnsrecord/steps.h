/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Brings the record sets of a DNSRecord to the provider, or away from it, step by step. */
#pragma once

#include "controller/dnsrecord/pass.h"

/* Publishes or withdraws, as pass->choice says, until the provider is waited for or all is done.
 * 0 or a negative code. */
int dnsrecord_run_steps(struct dnsrecord_pass *pass);
/* The next request to the provider. */
void dnsrecord_find_step(const struct dnsrecord_pass *pass, struct dnsrecord_step *ret);
/* Ends a deletion without the provider; what may be left there is named. 0 or a negative code. */
int dnsrecord_give_up(struct dnsrecord_pass *pass, const char *why);
/* A configuration error that was found without the provider. 0 or a negative code. */
int dnsrecord_fail(struct dnsrecord_pass *pass, enum dnsrecord_ownership ownership,
		   const char *text);
