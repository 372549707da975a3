/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An address set in memory, for tests. */
#include "testing/fake_addrset.h"

#include <stdio.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"

struct fake_addrset {
	struct addrset set;
	VEC(struct addrset_pair) held;
	struct addrset_request *first, **end;
	size_t n_waiting, n_commits;
	char tenant[64];
};

static bool is_same(const struct addrset_pair *left, const struct addrset_pair *right)
{
	return left->address.n == right->address.n &&
	       memcmp(&left->name, &right->name, sizeof(left->name)) == 0 &&
	       memcmp(left->address.bytes, right->address.bytes, left->address.n) == 0;
}

static bool holds_pair(const struct addrset *set, const struct addrset_pair *wanted)
{
	const struct fake_addrset *fake = (const struct fake_addrset *)(const void *)set;
	for (size_t i = 0; i < fake->held.n; i++) {
		if (is_same(&fake->held.v[i], wanted))
			return fake->held.v[i].until_ns >= wanted->until_ns;
	}
	return false;
}

static void add_request(struct addrset *set, struct addrset_request *request)
{
	struct fake_addrset *fake = CONTAINER_OF(set, struct fake_addrset, set);
	if (addrset_holds(set, request->pairs, request->n_pairs)) {
		request->done(request, 0);
		return;
	}
	snprintf(fake->tenant, sizeof(fake->tenant), "%.*s", (int)request->tenant.n,
		 request->tenant.n != 0 ? request->tenant.p : "");
	request->next = NULL;
	*fake->end = request;
	fake->end = &request->next;
	fake->n_waiting++;
}

static const struct addrset_ops fake_ops = { .holds = holds_pair, .add = add_request };

struct fake_addrset *fake_addrset_new(void)
{
	struct fake_addrset *fake = xcalloc(1, sizeof(*fake));
	fake->set.ops = &fake_ops;
	fake->end = &fake->first;
	return fake;
}

void fake_addrset_free(struct fake_addrset *fake)
{
	fake_addrset_commit(fake, ERR_CLOSED);
	vec_done(&fake->held);
	free(fake);
}

struct addrset *fake_addrset_set(struct fake_addrset *fake)
{
	return &fake->set;
}

size_t fake_addrset_waiting(const struct fake_addrset *fake)
{
	return fake->n_waiting;
}

const char *fake_addrset_tenant(const struct fake_addrset *fake)
{
	return fake->tenant;
}

size_t fake_addrset_commits(const struct fake_addrset *fake)
{
	return fake->n_commits;
}

static void hold_pair(struct fake_addrset *fake, const struct addrset_pair *pair)
{
	for (size_t i = 0; i < fake->held.n; i++) {
		if (is_same(&fake->held.v[i], pair)) {
			fake->held.v[i].until_ns = MAX(fake->held.v[i].until_ns, pair->until_ns);
			return;
		}
	}
	vec_push(&fake->held, *pair);
}

void fake_addrset_commit(struct fake_addrset *fake, int result)
{
	struct addrset_request *request = fake->first;
	fake->n_commits += request != NULL;
	fake->first = NULL;
	fake->end = &fake->first;
	fake->n_waiting = 0;
	while (request != NULL) {
		struct addrset_request *next = request->next;
		for (size_t i = 0; result == 0 && i < request->n_pairs; i++)
			hold_pair(fake, &request->pairs[i]);
		request->done(request, result);
		request = next;
	}
}

void fake_addrset_forget(struct fake_addrset *fake)
{
	fake->held.n = 0;
}
