/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names the pools that the allocator finds to share addresses, in the order of their keys: the sentence must
 * not change from pass to pass. */
#include "controller/ipam/overlap.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "controller/ipam/state.h"

enum { NAMED_MAX = 5 }; /* pools in the sentence; further ones are counted */

struct other_pool {
	char *key;
	union net_addr first; /* the lowest common address */
};

typedef VEC(struct other_pool) other_pools;

static void collect_pool(void *arg, const char *pool, union net_addr first)
{
	other_pools *others = arg;
	vec_push(others, (struct other_pool){ xstrdup(pool), first });
}

static int compare_keys(const void *left, const void *right)
{
	return strcmp(((const struct other_pool *)left)->key,
		      ((const struct other_pool *)right)->key);
}

/* "InClusterIPPool 'NAMESPACE/NAME' (from ADDRESS)" */
static void name_pool(const struct other_pool *other, struct strbuf *out)
{
	struct slice rest = slice_of(other->key);
	struct slice kind = slice_cut(&rest, '/'), ns = slice_cut(&rest, '/');
	char text[NET_ADDR_TEXT_MAX];
	net_addr_ip_str(&other->first, text);
	strbuf_addf(out, "%.*s '%.*s%s%.*s' (from %s)", (int)kind.n, kind.p, (int)ns.n, ns.p,
		    ns.n > 0 ? "/" : "", (int)rest.n, rest.p, text);
}

void ipam_find_overlaps(const struct controller_ctx *ctx, const char *pool_key, struct strbuf *out)
{
	other_pools others = { 0 };
	ipam_allocator_each_overlap(ipam_state_of(ctx)->allocator, pool_key, collect_pool, &others);
	if (others.n > 1)
		qsort(others.v, others.n, sizeof(others.v[0]), compare_keys);
	for (size_t i = 0; i < others.n; i++) {
		if (i < NAMED_MAX) {
			strbuf_adds(out, i > 0 ? ", " : "addresses are also in ");
			name_pool(&others.v[i], out);
		}
		free(others.v[i].key);
	}
	if (others.n > NAMED_MAX)
		strbuf_addf(out, " and %zu more pools", others.n - NAMED_MAX);
	vec_done(&others);
}
