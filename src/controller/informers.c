/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shared informers: watches are grouped by what they select, each group becomes one informer. */
#include "controller/informers_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/kind.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "controller/controller.h"
#include "kube/decode/record.h"
#include "kube/decode/string_pool.h"
#include "kube/decode/tree.h"

struct member {
	const struct controller_watch *watch;
	struct kube_handler handler;
	struct informers_part *part;
};

/* Watches that select the same objects. */
struct group {
	VEC(struct member) members;
	VEC(struct api_kind) older; /* its kind in older versions */
	struct kube_informer *informer;
};

struct informers {
	struct kube_client *client;
	struct kube_server_memory *memory;
	char *ns;
	struct kube_string_pool *pool; /* of compact objects; made when one is wanted */
	VEC(struct group *) groups;
};

struct informers *informers_new(struct kube_client *client, const char *ns,
				struct kube_server_memory *memory)
{
	struct informers *set = xcalloc(1, sizeof(*set));
	set->client = client;
	set->memory = memory;
	set->ns = xstrdup(ns);
	return set;
}

void informers_stop(struct informers *informers)
{
	for (size_t i = 0; i < informers->groups.n; i++) {
		if (informers->groups.v[i]->informer != NULL)
			kube_informer_stop(informers->groups.v[i]->informer);
	}
}

void informers_free(struct informers *informers)
{
	if (informers == NULL)
		return;
	informers_stop(informers); /* all of them before any store goes: handlers read stores */
	for (size_t i = 0; i < informers->groups.n; i++) {
		struct group *group = informers->groups.v[i];
		kube_informer_free(group->informer);
		vec_done(&group->members);
		vec_done(&group->older);
		free(group);
	}
	vec_done(&informers->groups);
	kube_string_pool_free(informers->pool);
	free(informers->ns);
	free(informers);
}

/* ---- groups ---- */

static bool same_text(const char *left, const char *right)
{
	return left == right || (left != NULL && right != NULL && strcmp(left, right) == 0);
}

static const char *namespace_of(const struct informers *informers,
				const struct controller_watch *watch)
{
	return watch->own_ns ? informers->ns : watch->ns;
}

static bool selects_same(const struct informers *informers, const struct controller_watch *left,
			 const struct controller_watch *right)
{
	return same_text(left->group, right->group) && same_text(left->kind, right->kind) &&
	       same_text(namespace_of(informers, left), namespace_of(informers, right)) &&
	       same_text(left->labels, right->labels) && same_text(left->fields, right->fields) &&
	       left->record == right->record && left->codec == right->codec &&
	       left->older_versions == right->older_versions;
}

void informers_add(struct informers *informers, const struct controller_watch *watch,
		   const struct kube_handler *handler, struct informers_part *part)
{
	struct group *group = NULL;
	for (size_t i = 0; group == NULL && i < informers->groups.n; i++) {
		struct group *other = informers->groups.v[i];
		assert(other->informer == NULL);
		if (selects_same(informers, other->members.v[0].watch, watch))
			group = other;
	}
	if (group == NULL) {
		group = xcalloc(1, sizeof(*group));
		vec_push(&informers->groups, group);
	}
	vec_push(&group->members, (struct member){ watch, *handler, part });
}

/* ---- from a group to its informer ---- */

typedef VEC(const char *) path_list;

/* Is the path inside the other one, or the same? */
static bool is_below(const char *path, const char *above)
{
	size_t n = strlen(above);
	return strncmp(path, above, n) == 0 &&
	       (path[n] == '\0' || path[n] == '.' || path[n] == '[');
}

static void add_path(path_list *list, const char *path)
{
	size_t kept = 0;
	for (size_t i = 0; i < list->n; i++) {
		if (is_below(path, list->v[i]))
			return;
	}
	for (size_t i = 0; i < list->n; i++) {
		if (!is_below(list->v[i], path))
			list->v[kept++] = list->v[i];
	}
	list->n = kept;
	vec_push(list, path);
}

/* The fields that any member keeps; none at all when one of them keeps everything. */
static void union_of_paths(const struct group *group, path_list *ret)
{
	for (size_t i = 0; i < group->members.n; i++) {
		const char *const *paths = group->members.v[i].watch->paths;
		if (paths == NULL) {
			ret->n = 0;
			return;
		}
		for (; *paths != NULL; paths++)
			add_path(ret, *paths);
	}
}

/* Of compact objects; controllers share it. */
static struct kube_string_pool *pool_of(struct informers *informers)
{
	if (informers->pool == NULL)
		informers->pool = kube_string_pool_new();
	return informers->pool;
}

static struct kube_codec *make_codec(struct informers *informers, const struct group *group,
				     const struct api_kind *kind)
{
	const struct controller_watch *watch = group->members.v[0].watch;
	assert(watch->record == NULL ||
	       api_kind_find(watch->record->group, watch->record->kind) == kind);
	if (watch->record != NULL)
		return kube_record_codec(watch->record, pool_of(informers));
	if (watch->codec != NULL)
		return watch->codec(pool_of(informers));
	path_list paths = { 0 };
	union_of_paths(group, &paths);
	struct kube_codec *codec = kube_tree_codec(kind, paths.v, paths.n);
	vec_done(&paths);
	return codec;
}

/* Adds the indexes of a member that the store does not have yet. ERR_LIMIT: too many. */
static int add_indexes(const struct member *member, kube_index_fn *indexes, size_t *n_indexes)
{
	for (size_t i = 0; i < member->watch->n_indexes; i++) {
		size_t at = 0;
		while (at < *n_indexes && indexes[at] != member->watch->indexes[i])
			at++;
		if (at == KUBE_STORE_INDEXES_MAX)
			return ERR_LIMIT;
		if (at == *n_indexes)
			indexes[(*n_indexes)++] = member->watch->indexes[i];
		member->part->index_at[i] = (uint8_t)at;
	}
	return 0;
}

static int create_group(struct informers *informers, struct group *group, struct err_text err)
{
	const struct controller_watch *watch = group->members.v[0].watch;
	const struct api_kind *kind = api_kind_find(watch->group, watch->kind);
	kube_index_fn indexes[KUBE_STORE_INDEXES_MAX];
	size_t n_indexes = 0;
	if (kind == NULL) {
		err_text_set(err, "kind '%s' of group '%s' is not known", watch->kind,
			     watch->group);
		return ERR_INTERNAL;
	}
	for (size_t i = 0; i < group->members.n; i++) {
		if (add_indexes(&group->members.v[i], indexes, &n_indexes) == 0)
			continue;
		err_text_set(err, "the controllers want more than %d indexes of %s",
			     KUBE_STORE_INDEXES_MAX, watch->kind);
		return ERR_INTERNAL;
	}
	for (size_t i = 0; watch->older_versions != NULL && watch->older_versions[i] != NULL; i++) {
		struct api_kind older = *kind;
		older.version = watch->older_versions[i];
		vec_push(&group->older, older);
	}
	group->informer = kube_informer_new(&(struct kube_informer_conf){
		.client = informers->client,
		.kind = kind,
		.older = group->older.v,
		.n_older = group->older.n,
		.ns = namespace_of(informers, watch),
		.labels = watch->labels,
		.fields = watch->fields,
		.codec = make_codec(informers, group, kind),
		.indexes = indexes,
		.n_indexes = n_indexes,
		.memory = informers->memory,
	});
	for (size_t i = 0; i < group->members.n; i++) {
		group->members.v[i].part->informer = group->informer;
		kube_informer_handle(group->informer, &group->members.v[i].handler);
	}
	return 0;
}

int informers_create(struct informers *informers, struct err_text err)
{
	int r = 0;
	for (size_t i = 0; r >= 0 && i < informers->groups.n; i++)
		r = create_group(informers, informers->groups.v[i], err);
	return r;
}

int informers_start(struct informers *informers, struct err_text err)
{
	int r = 0;
	for (size_t i = 0; r >= 0 && i < informers->groups.n; i++)
		r = kube_informer_start(informers->groups.v[i]->informer, err);
	return r;
}

void controller_each_by(const struct controller_ctx *ctx, size_t watch, size_t index,
			struct slice key, kube_store_fn fn, void *arg)
{
	size_t at = ctx->parts != NULL ? ctx->parts[watch].index_at[index] : index;
	kube_store_each_by(ctx->stores[watch], at, key, fn, arg);
}

const struct api_kind *controller_kind_of(const struct controller_ctx *ctx,
					  const struct controller_watch *watch, size_t index)
{
	return ctx->parts != NULL ? kube_informer_kind(ctx->parts[index].informer)
				  : api_kind_find(watch->group, watch->kind);
}

bool controller_is_synced(const struct controller_ctx *ctx, const struct controller_watch *watches,
			  size_t count)
{
	for (size_t i = 0; ctx->parts != NULL && i < count; i++) {
		struct kube_informer *informer = ctx->parts[i].informer;
		if (!kube_informer_synced(informer) &&
		    !(watches[i].optional && kube_informer_absent(informer)))
			return false;
	}
	return true;
}
