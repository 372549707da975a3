/* One write: what it changes, who owned that, and who owns it afterwards. */
#include <stdlib.h>
#include <string.h>

#include "api/managed_priv.h"
#include "api/meta.h"
#include "api/time.h"
#include "api/tree.h"
#include "base/mem.h"

void managed_taking_done(struct managed_taking *t)
{
	for (size_t i = 0; i < t->n; i++)
		fieldset_unref(t->v[i].set);
	vec_done(t);
}

/* ---- sets ---- */

/* "metadata.name" */
static void insert_words(struct fieldset *s, const char *text)
{
	struct managed_path path = { 0 };
	for (struct slice rest = slice_of(text); rest.p != NULL;) {
		CLEANUP(freep) char *word = NULL;
		struct slice one = slice_cut(&rest, '.');
		word = xstrndup(one.p, one.n);
		managed_path_push_name(&path, word);
	}
	fieldset_insert(s, path.v, path.n);
	managed_path_done(&path);
}

static struct fieldset *set_of(const char *const *paths)
{
	struct fieldset *s = fieldset_new();
	for (; *paths != NULL; paths++)
		insert_words(s, *paths);
	return s;
}

struct fieldset *managed_set_strip(struct fieldset *s)
{
	static const char *const paths[] = {
		"apiVersion",
		"kind",
		"metadata",
		"metadata.name",
		"metadata.namespace",
		"metadata.creationTimestamp",
		"metadata.selfLink",
		"metadata.uid",
		"metadata.clusterName",
		"metadata.generation",
		"metadata.managedFields",
		"metadata.resourceVersion",
		NULL,
	};
	struct fieldset *gone = set_of(paths);
	struct fieldset *rest = fieldset_difference(s, gone);
	fieldset_unref(gone);
	return rest;
}

void managed_set_change(struct fieldset **s,
			struct fieldset *(*op)(struct fieldset *, struct fieldset *),
			struct fieldset *with)
{
	struct fieldset *out = op(*s, with);
	fieldset_unref(*s);
	*s = out;
}

/* ---- objects ---- */

json_t *managed_write_without(const json_t *o)
{
	const json_t *meta = json_object_get(o, "metadata");
	json_t *copy = o != NULL ? json_copy(api_tree(o)) : json_object();
	if (json_object_get(meta, "managedFields") != NULL) {
		json_t *m = json_copy(api_tree(meta));
		json_object_del(m, "managedFields");
		json_object_set_new(copy, "metadata", m);
	}
	return copy;
}

const json_t *managed_write_fields(const json_t *o)
{
	return json_object_get(json_object_get(o, "metadata"), "managedFields");
}

json_t *managed_write_finish(const json_t *o, json_t *managed)
{
	json_t *out = json_deep_copy(o);
	json_t *meta = json_object_get(out, "metadata");
	if (managed != NULL && !json_is_object(meta)) {
		meta = json_object();
		json_object_set_new(out, "metadata", meta);
	}
	if (managed != NULL)
		json_object_set_new(meta, "managedFields", managed);
	return out;
}

void managed_write_init(struct managed_write *x, const struct api_managed_write *w)
{
	uint64_t ns;
	*x = (struct managed_write){ .w = w, .type = managed_type_root(w->schema) };
	x->create = api_uid(w->live)[0] == '\0';
	x->from = managed_write_without(w->live);
	if (w->reset != NULL)
		x->reset = set_of(w->reset);
	if (api_time_parse(w->time, &ns) == 0)
		x->now_s = (int64_t)(ns / 1000000000U);
}

void managed_write_done(struct managed_write *x)
{
	json_decref(x->from);
	fieldset_unref(x->reset);
}

bool managed_write_knows(const struct api_managed_write *w, const char *version)
{
	if (strcmp(version, w->api_version) == 0)
		return true;
	for (const char *const *v = w->versions; v != NULL && *v != NULL; v++) {
		if (strcmp(*v, version) == 0)
			return true;
	}
	return false;
}

void managed_write_settle(const struct managed_write *x, struct managed_entries *l)
{
	for (size_t i = l->n; i-- > 0;) {
		if (managed_write_knows(x->w, l->v[i].api_version))
			managed_entry_set(&l->v[i], managed_fields_settle(x->type, l->v[i].set));
		else
			managed_entries_del(l, i);
	}
}

/* ---- what changed, and who owned it ---- */

void managed_changes_done(struct managed_changes *c)
{
	managed_change_done(&c->own);
	managed_change_done(&c->others);
}

void managed_changes_init(const struct managed_write *x, const json_t *to,
			  struct managed_changes *c)
{
	managed_compare(x->type, x->from, to, &c->others);
	c->own = (struct managed_change){ fieldset_ref(c->others.removed),
					  fieldset_ref(c->others.modified),
					  fieldset_ref(c->others.added) };
	managed_change_without(&c->own, x->reset);
}

static const struct managed_change *change_for(const struct managed_write *x,
					       const struct managed_changes *c,
					       const struct managed_entry *e)
{
	return strcmp(e->api_version, x->w->api_version) == 0 ? &c->own : &c->others;
}

void managed_write_conflicts(const struct managed_write *x, struct managed_entries *l,
			     const char *self, const struct managed_changes *c,
			     struct managed_taking *ret)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct managed_change *ch = change_for(x, c, &l->v[i]);
		if (self != NULL && strcmp(l->v[i].id, self) == 0)
			continue;
		struct fieldset *set = fieldset_union(ch->modified, ch->added);
		struct fieldset *owned = fieldset_intersection(l->v[i].set, set);
		fieldset_unref(set);
		if (fieldset_empty(owned)) {
			fieldset_unref(owned);
			continue;
		}
		vec_reserve_one(ret);
		ret->v[ret->n].at = i;
		ret->v[ret->n++].set = owned;
	}
}

void managed_write_take(const struct managed_write *x, struct managed_entries *l, const char *self,
			const struct managed_changes *c, const struct managed_taking *t)
{
	for (size_t i = 0; i < t->n; i++)
		managed_set_change(&l->v[t->v[i].at].set, fieldset_difference, t->v[i].set);
	for (size_t i = l->n; i-- > 0;) {
		if (self == NULL || strcmp(l->v[i].id, self) != 0)
			managed_set_change(&l->v[i].set, fieldset_difference,
					   change_for(x, c, &l->v[i])->removed);
		if (fieldset_empty(l->v[i].set))
			managed_entries_del(l, i);
	}
}

struct managed_entry *managed_write_self(const struct managed_write *x, struct managed_entries *l,
					 const char *manager, bool applied)
{
	CLEANUP(freep) char *m = xstrdup(manager), *v = xstrdup(x->w->api_version);
	CLEANUP(freep) char *s = xstrdup(x->w->subresource);
	return managed_entries_add(
		l, &(struct managed_entry){
			   .manager = m, .api_version = v, .subresource = s, .applied = applied });
}

void managed_write_update(const struct managed_write *x, struct managed_entries *l,
			  const json_t *to, const char *manager)
{
	struct managed_changes c;
	struct managed_taking t = { 0 };
	managed_write_settle(x, l);
	managed_changes_init(x, to, &c);
	managed_write_conflicts(x, l, NULL, &c, &t);
	managed_write_take(x, l, NULL, &c, &t);
	managed_taking_done(&t);
	struct fieldset *mine = fieldset_union(c.own.modified, c.own.added);
	struct fieldset *set = managed_set_strip(mine);
	fieldset_unref(mine);
	if (!fieldset_empty(set)) {
		struct managed_entry *e = managed_write_self(x, l, manager, false);
		managed_entry_set(e, fieldset_union(set, e->set));
		e->time_s = x->now_s;
	}
	fieldset_unref(set);
	managed_changes_done(&c);
	managed_entries_cap(l);
}
