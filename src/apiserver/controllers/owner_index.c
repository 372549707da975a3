/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The index of owners: dependents by the uid of each owner. */
#include "apiserver/controllers/owner_index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/mem.h"
#include "base/vec.h"

/* An object with owners: their uids, to find it in their lists again. */
struct dependent {
	char *key;
	char **uid;
	size_t n;
};

struct dependents {
	VEC(struct apiserver_dependent) list;
};

void apiserver_owner_index_init(struct apiserver_owner_index *owners)
{
	map_init(&owners->by_key);
	map_init(&owners->by_owner);
}

static void dependent_free(struct dependent *dependent)
{
	for (size_t i = 0; i < dependent->n; i++)
		free(dependent->uid[i]);
	free(dependent->uid);
	free(dependent->key);
	free(dependent);
}

void apiserver_owner_index_done(struct apiserver_owner_index *owners)
{
	const struct map_entry *e;
	size_t pos = 0;
	while ((e = map_next(&owners->by_key, &pos)) != NULL)
		dependent_free(e->value);
	pos = 0;
	while ((e = map_next(&owners->by_owner, &pos)) != NULL) {
		struct dependents *d = e->value;
		vec_done(&d->list);
		free(d);
	}
	map_done(&owners->by_key);
	map_done(&owners->by_owner);
}

static void remove_dependent(struct apiserver_owner_index *owners, const char *uid, const char *key)
{
	struct dependents *d = map_get(&owners->by_owner, slice_of(uid));
	assert(d != NULL && d->list.n != 0); /* added with the dependent's own list of uids */
	for (size_t i = 0; i < d->list.n; i++) {
		if (d->list.v[i].key == key) {
			d->list.v[i] = d->list.v[--d->list.n];
			break;
		}
	}
	if (d->list.n != 0)
		return;
	map_del(&owners->by_owner, slice_of(uid));
	vec_done(&d->list);
	free(d);
}

static void add_dependent(struct apiserver_owner_index *owners, const char *uid, const char *key,
			  bool blocking)
{
	struct dependents *d = map_get(&owners->by_owner, slice_of(uid));
	if (d == NULL) {
		d = xcalloc(1, sizeof(*d));
		map_set(&owners->by_owner, slice_of(uid), d);
	}
	vec_push(&d->list, (struct apiserver_dependent){ .key = key, .blocking = blocking });
}

void apiserver_owner_index_set(struct apiserver_owner_index *owners, const char *key,
			       const json_t *references)
{
	struct dependent *d = map_del(&owners->by_key, slice_of(key));
	size_t n = json_array_size(references);
	if (d != NULL) {
		for (size_t i = 0; i < d->n; i++)
			remove_dependent(owners, d->uid[i], d->key);
		dependent_free(d);
	}
	if (n == 0)
		return;
	d = xcalloc(1, sizeof(*d));
	d->key = xstrdup(key);
	d->uid = xcalloc(n, sizeof(*d->uid));
	for (size_t i = 0; i < n; i++) {
		const json_t *ref = json_array_get(references, i);
		d->uid[d->n++] = xstrdup(api_get_string(ref, "uid"));
		add_dependent(owners, d->uid[i], d->key,
			      json_is_true(json_object_get(ref, "blockOwnerDeletion")));
	}
	map_set(&owners->by_key, slice_of(key), d);
}

const struct apiserver_dependent *apiserver_owner_index_dependents(
	const struct apiserver_owner_index *owners, const char *uid, size_t *ret_n)
{
	const struct dependents *d = map_get(&owners->by_owner, slice_of(uid));
	*ret_n = d != NULL ? d->list.n : 0;
	return d != NULL ? d->list.v : NULL;
}
