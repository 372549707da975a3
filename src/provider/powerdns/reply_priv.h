/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What PowerDNS's replies hold: record sets, zones, error texts. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/slice.h"
#include "provider/rrset.h"

/* The account of the comment whose text is an owner mark. (A mark may be longer than the 40 characters
 * that some backends have for an account.) */
#define POWERDNS_MARK_ACCOUNT "fairlead"

enum { POWERDNS_VALUES_MAX = 8192 }; /* of a set; it is 64 KB on the wire at most */

/* A record set, in memory of its own. A record that is disabled has a value that begins with
 * "disabled ", and so equals none of ours. */
MUST_CHECK int powerdns_reply_rrset(struct slice json, struct provider_rrset **ret);

struct powerdns_zone {
	char *id, *name;
	uint32_t serial; /* 0: not said */
};
/* ERR_PARSE: without id or name. */
MUST_CHECK int powerdns_reply_zone(struct slice json, struct powerdns_zone *ret);
void powerdns_zone_done(struct powerdns_zone *zone);

/* The sentence of an error reply; "" when it is not one of PowerDNS's. */
void powerdns_reply_error(struct slice body, struct err_text out);
