/* The index of owners. */
#include "apiserver/owners.h"

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

void apiserver_owners_init(struct apiserver_owners *o)
{
	map_init(&o->by_key);
	map_init(&o->by_owner);
}

static void dependent_free(struct dependent *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->uid[i]);
	free(d->uid);
	free(d->key);
	free(d);
}

void apiserver_owners_done(struct apiserver_owners *o)
{
	const struct map_entry *e;
	size_t pos = 0;
	while ((e = map_next(&o->by_key, &pos)) != NULL)
		dependent_free(e->value);
	pos = 0;
	while ((e = map_next(&o->by_owner, &pos)) != NULL) {
		struct dependents *d = e->value;
		vec_done(&d->list);
		free(d);
	}
	map_done(&o->by_key);
	map_done(&o->by_owner);
}

static void leave(struct apiserver_owners *o, const char *uid, const char *key)
{
	struct dependents *d = map_get(&o->by_owner, slice_of(uid));
	if (d == NULL)
		return;
	for (size_t i = 0; i < d->list.n; i++) {
		if (d->list.v[i].key == key) {
			d->list.v[i] = d->list.v[--d->list.n];
			break;
		}
	}
	if (d->list.n != 0)
		return;
	map_del(&o->by_owner, slice_of(uid));
	vec_done(&d->list);
	free(d);
}

static void join(struct apiserver_owners *o, const char *uid, const char *key, bool blocking)
{
	struct dependents *d = map_get(&o->by_owner, slice_of(uid));
	if (d == NULL) {
		d = xcalloc(1, sizeof(*d));
		map_set(&o->by_owner, slice_of(uid), d);
	}
	vec_push(&d->list, (struct apiserver_dependent){ .key = key, .blocking = blocking });
}

void apiserver_owners_set(struct apiserver_owners *o, const char *key, const json_t *references)
{
	struct dependent *d = map_del(&o->by_key, slice_of(key));
	size_t n = json_array_size(references);
	if (d != NULL) {
		for (size_t i = 0; i < d->n; i++)
			leave(o, d->uid[i], d->key);
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
		join(o, d->uid[i], d->key,
		     json_is_true(json_object_get(ref, "blockOwnerDeletion")));
	}
	map_set(&o->by_key, slice_of(key), d);
}

const struct apiserver_dependent *apiserver_owners_of(const struct apiserver_owners *o,
						      const char *uid, size_t *ret_n)
{
	const struct dependents *d = map_get(&o->by_owner, slice_of(uid));
	*ret_n = d != NULL ? d->list.n : 0;
	return d != NULL ? d->list.v : NULL;
}
