/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Name ids, and the calls that every back end answers. */
#include "addrset/addrset.h"

#include <assert.h>
#include <string.h>

#include "base/crypto/digest.h"

struct addrset_id addrset_id_of(struct slice name)
{
	uint8_t digest[DIGEST_SHA256_BYTES];
	struct addrset_id id;
	digest_sha256(name.p, name.n, digest);
	memcpy(id.bytes, digest, sizeof(id.bytes));
	return id;
}

bool addrset_holds(const struct addrset *set, const struct addrset_pair *pairs, size_t n_pairs)
{
	for (size_t i = 0; i < n_pairs; i++) {
		if (!set->ops->holds(set, &pairs[i]))
			return false;
	}
	return true;
}

void addrset_add(struct addrset *set, struct addrset_request *request)
{
	assert(request->done != NULL);
	set->ops->add(set, request);
}
