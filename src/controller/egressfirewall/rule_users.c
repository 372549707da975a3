/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A list of uses for each object. Most objects have one. */
#include "controller/egressfirewall/rule_users.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/vec.h"

struct user {
	const char *firewall;
	enum rule_use use;
};

struct users_of_object {
	VEC(struct user) list;
	unsigned uses[RULE_USES]; /* how many of the list are of each kind */
};

void rule_users_init(struct rule_users *users)
{
	map_init(&users->by_object);
}

static void free_object(struct users_of_object *object)
{
	vec_done(&object->list);
	free(object);
}

void rule_users_done(struct rule_users *users)
{
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(&users->by_object, &pos)) != NULL)
		free_object(entry->value);
	map_done(&users->by_object);
}

static bool has_just_added(const struct users_of_object *object, const char *firewall,
			   enum rule_use use)
{
	for (size_t i = object->list.n; i > 0 && object->list.v[i - 1].firewall == firewall; i--) {
		if (object->list.v[i - 1].use == use)
			return true;
	}
	return false;
}

void rule_users_add(struct rule_users *users, const char *name, const char *firewall,
		    enum rule_use use)
{
	struct users_of_object *object = map_get(&users->by_object, slice_of(name));
	if (object == NULL) {
		object = xcalloc(1, sizeof(*object));
		map_set(&users->by_object, slice_of(name), object);
	}
	if (has_just_added(object, firewall, use))
		return;
	vec_push(&object->list, (struct user){ firewall, use });
	object->uses[use]++;
}

void rule_users_remove(struct rule_users *users, const char *name, const char *firewall)
{
	struct users_of_object *object = map_get(&users->by_object, slice_of(name));
	size_t kept = 0;
	if (object == NULL)
		return;
	for (size_t i = 0; i < object->list.n; i++) {
		struct user user = object->list.v[i];
		if (user.firewall != firewall) {
			object->list.v[kept++] = user;
			continue;
		}
		assert(object->uses[user.use] > 0);
		object->uses[user.use]--;
	}
	object->list.n = kept;
	if (kept == 0)
		free_object(map_del(&users->by_object, slice_of(name)));
}

bool rule_users_have(const struct rule_users *users, const char *name, enum rule_use use)
{
	const struct users_of_object *object = map_get(&users->by_object, slice_of(name));
	return object != NULL && object->uses[use] != 0;
}

void rule_users_each(const struct rule_users *users, const char *name,
		     void (*fn)(void *ctx, const char *firewall), void *ctx)
{
	const struct users_of_object *object = map_get(&users->by_object, slice_of(name));
	for (size_t i = 0; object != NULL && i < object->list.n; i++) {
		if (i == 0 || object->list.v[i].firewall != object->list.v[i - 1].firewall)
			fn(ctx, object->list.v[i].firewall);
	}
}
