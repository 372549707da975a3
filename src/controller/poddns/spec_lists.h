/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search lists that pods need by their specs. The label PODDNS_LIST_LABEL of a pod can be removed;
 * its virtual suffix, ID.search.ZONE in spec.dnsConfig.searches, cannot be changed. */
#pragma once

#include "base/compiler.h"

struct controller_ctx;
struct poddns_lists;

/* Lists all pods of the namespace that have not ended, page by page, and calls poddns_lists_use for
 * each whose spec has such a suffix; ends early once every published list is used. Costs as much as
 * the namespace is large: to be called before a list is dropped, not in every pass. If pods are too
 * large to be read, all lists count as used. 0, or a negative code with ctx->err. */
MUST_CHECK int poddns_spec_lists_find(struct controller_ctx *ctx, const char *ns,
				      struct poddns_lists *lists);
