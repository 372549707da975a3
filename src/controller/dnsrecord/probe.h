/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The drift probe: now and then DNS is asked for the record set of a settled object. Another answer leads
 * to one read at the provider: what is ours there and differs is published again. The object's condition
 * Resolvable has the result. */
#pragma once

#include <stdbool.h>

#include "controller/dnsrecord/pass.h"

/* Does the provider have what the object asks for, so far as is known? */
bool dnsrecord_is_settled(const struct dnsrecord_pass *pass);
/* Is the object settled, and to be probed? */
bool dnsrecord_can_probe(const struct dnsrecord_pass *pass);
/* Goes on with the object's probe, and sets ctx->again_ns to when it is due. 0, or a negative code of
 * dnsrecord_pass_condition(). *ret_has_drifted: the provider does not have the record set any more. */
int dnsrecord_probe(struct dnsrecord_pass *pass, bool *ret_has_drifted);
