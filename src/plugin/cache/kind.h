/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Classifies replies for the cache: the kinds of dns/resp_kind.h, and whether an answer holds what was
 * asked for.
 *
 * RFC 2308 §2.2: NODATA may come with the CNAME chain that led to it. So a NOERROR reply with
 * records is an answer only if the type asked for stands at the chain's end. */
#pragma once

#include "plugin/cache/cache_priv.h"

/* How the cache classifies a reply. */
struct cache_verdict {
	enum dns_kind kind;
	bool storable;
	bool answers; /* holds what was asked for */
};

struct cache_verdict cache_judge(const struct query *q, const struct dns_resp *resp);
/* Its question is the one that was asked (a reply in open form has no other). */
bool cache_matches(const struct query *q, const struct dns_resp *resp);
bool cache_has_question(const struct dns_resp *resp);
