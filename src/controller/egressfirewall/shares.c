/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A list for each wildcard and client, oldest first. */
#include "controller/egressfirewall/shares.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/slice.h"

struct shares_client {
	struct shares_share *share;
	uint64_t id;
	size_t n;
	struct shares_place *oldest, *newest;
};

struct shares_share {
	char *wildcard;
	size_t n;
	struct map by_client; /* struct shares_client, owned; none is empty */
};

static struct slice key_of(const uint64_t *client_id)
{
	return (struct slice){ (const char *)client_id, sizeof(*client_id) };
}

void shares_init(struct shares *shares)
{
	map_init(&shares->by_wildcard);
	shares->n_places = 0;
}

static void share_free(struct shares_share *share)
{
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(&share->by_client, &pos)) != NULL)
		free(entry->value);
	map_done(&share->by_client);
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

/* ---- who makes room ---- */

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

static const struct shares_client *find_largest_client(const struct shares_share *share,
						       uint64_t client_id)
{
	const struct shares_client *own = map_get(&share->by_client, key_of(&client_id));
	const struct shares_client *largest = own;
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(&share->by_client, &pos)) != NULL) {
		const struct shares_client *client = entry->value;
		if (largest == NULL || client->n > largest->n)
			largest = client;
	}
	return own != NULL && largest->n <= own->n + 1 ? own : largest;
}

/* All shares are compared only for one that has less than its part: clients that ask for very many
 * names soon have more. */
struct shares_place *shares_oldest_for(const struct shares *shares, const char *wildcard,
				       uint64_t client_id)
{
	const struct shares_share *share = map_get(&shares->by_wildcard, slice_of(wildcard));
	bool is_new = share == NULL;
	size_t part = SHARES_HOSTS_MAX / (shares->by_wildcard.n + is_new);
	if (is_new || (share->n < part && share->n < SHARES_HOST_MAX))
		share = find_largest(shares);
	return share != NULL ? find_largest_client(share, client_id)->oldest : NULL;
}

/* ---- joining and leaving ---- */

static void append(struct shares_share *share, struct shares_place *place)
{
	struct shares_client *client = map_get(&share->by_client, key_of(&place->client_id));
	if (client == NULL) {
		client = xcalloc(1, sizeof(*client));
		client->share = share;
		client->id = place->client_id;
		map_set(&share->by_client, key_of(&client->id), client);
	}
	place->client = client;
	place->newer = NULL;
	place->older = client->newest;
	if (client->newest != NULL)
		client->newest->newer = place;
	else
		client->oldest = place;
	client->newest = place;
	client->n++;
	share->n++;
}

static void unlink_place(struct shares_place *place)
{
	struct shares_client *client = place->client;
	assert(client->n != 0 && client->share->n >= client->n);
	if (place->older != NULL)
		place->older->newer = place->newer;
	else
		client->oldest = place->newer;
	if (place->newer != NULL)
		place->newer->older = place->older;
	else
		client->newest = place->older;
	client->share->n--;
	place->client = NULL;
	if (--client->n != 0)
		return;
	map_del(&client->share->by_client, key_of(&client->id));
	free(client);
}

void shares_join(struct shares *shares, struct shares_place *place, const char *wildcard)
{
	if (place->client != NULL && strcmp(place->client->share->wildcard, wildcard) == 0)
		return;
	shares_leave(shares, place);
	struct shares_share *share = map_get(&shares->by_wildcard, slice_of(wildcard));
	if (share == NULL) {
		share = xcalloc(1, sizeof(*share));
		share->wildcard = xstrdup(wildcard);
		map_init(&share->by_client);
		map_set(&shares->by_wildcard, slice_of(wildcard), share);
	}
	append(share, place);
	shares->n_places++;
}

void shares_use(struct shares_place *place, uint64_t client_id)
{
	const struct shares_client *client = place->client;
	if (client == NULL) {
		place->client_id = client_id;
		return;
	}
	struct shares_share *share = client->share;
	const struct shares_client *other = map_get(&share->by_client, key_of(&client_id));
	if (client_id != client->id && (other != NULL ? other->n : 0) + 1 < client->n)
		place->client_id = client_id;
	else if (client->newest == place)
		return;
	unlink_place(place);
	append(share, place);
}

void shares_leave(struct shares *shares, struct shares_place *place)
{
	if (place->client == NULL)
		return;
	struct shares_share *share = place->client->share;
	unlink_place(place);
	shares->n_places--;
	if (share->n != 0)
		return;
	map_del(&shares->by_wildcard, slice_of(share->wildcard));
	share_free(share);
}
