/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A list for each wildcard, oldest first. */
#include "controller/egressfirewall/shares.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/slice.h"

struct shares_share {
	char *wildcard;
	size_t n;
	struct shares_place *oldest, *newest;
};

void shares_init(struct shares *shares)
{
	map_init(&shares->by_wildcard);
	shares->n_places = 0;
}

static void share_free(struct shares_share *share)
{
	free(share->wildcard);
	free(share);
}

void shares_done(struct shares *shares)
{
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(&shares->by_wildcard, &pos)) != NULL)
		share_free(entry->value);
	map_done(&shares->by_wildcard);
}

bool shares_have_room(const struct shares *shares, const char *wildcard)
{
	const struct shares_share *share = map_get(&shares->by_wildcard, slice_of(wildcard));
	return shares->n_places < SHARES_HOSTS_MAX && (share == NULL || share->n < SHARES_HOST_MAX);
}

static const struct shares_share *find_largest(const struct shares *shares)
{
	const struct shares_share *largest = NULL;
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(&shares->by_wildcard, &pos)) != NULL) {
		const struct shares_share *share = entry->value;
		if (largest == NULL || share->n > largest->n)
			largest = share;
	}
	return largest;
}

/* All shares are compared only for one that has less than its part: clients that ask for very many
 * names soon have more. */
struct shares_place *shares_oldest_for(const struct shares *shares, const char *wildcard)
{
	const struct shares_share *share = map_get(&shares->by_wildcard, slice_of(wildcard));
	bool is_new = share == NULL;
	size_t part = SHARES_HOSTS_MAX / (shares->by_wildcard.n + is_new);
	if (is_new || (share->n < part && share->n < SHARES_HOST_MAX))
		share = find_largest(shares);
	return share != NULL ? share->oldest : NULL;
}

static void append(struct shares_share *share, struct shares_place *place)
{
	place->share = share;
	place->newer = NULL;
	place->older = share->newest;
	if (share->newest != NULL)
		share->newest->newer = place;
	else
		share->oldest = place;
	share->newest = place;
	share->n++;
}

static void unlink_place(struct shares_place *place)
{
	struct shares_share *share = place->share;
	assert(share->n != 0);
	if (place->older != NULL)
		place->older->newer = place->newer;
	else
		share->oldest = place->newer;
	if (place->newer != NULL)
		place->newer->older = place->older;
	else
		share->newest = place->older;
	share->n--;
	place->share = NULL;
}

void shares_join(struct shares *shares, struct shares_place *place, const char *wildcard)
{
	if (place->share != NULL && strcmp(place->share->wildcard, wildcard) == 0)
		return;
	shares_leave(shares, place);
	struct shares_share *share = map_get(&shares->by_wildcard, slice_of(wildcard));
	if (share == NULL) {
		share = xcalloc(1, sizeof(*share));
		share->wildcard = xstrdup(wildcard);
		map_set(&shares->by_wildcard, slice_of(wildcard), share);
	}
	append(share, place);
	shares->n_places++;
}

void shares_use(struct shares_place *place)
{
	struct shares_share *share = place->share;
	if (share == NULL || share->newest == place)
		return;
	unlink_place(place);
	append(share, place);
}

void shares_leave(struct shares *shares, struct shares_place *place)
{
	struct shares_share *share = place->share;
	if (share == NULL)
		return;
	unlink_place(place);
	shares->n_places--;
	if (share->n != 0)
		return;
	map_del(&shares->by_wildcard, slice_of(share->wildcard));
	share_free(share);
}
