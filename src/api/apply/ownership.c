/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Field ownership of one write (managedFields): which fields it changes, which managers lose
 * them, and the writer's own entry afterwards. Steps of api_managed_apply and
 * api_managed_update. */
#include "api/apply/ownership_priv.h"

#include <string.h>

#include "api/apply/fields_priv.h"
#include "api/apply/walk_path_priv.h"
#include "api/meta.h"
#include "api/time.h"
#include "api/tree_copy.h"
#include "base/mem.h"
#include "base/vec.h"

void managed_losses_done(struct managed_losses *losses)
{
	for (size_t i = 0; i < losses->n; i++)
		fieldset_unref(losses->v[i].set);
	vec_done(losses);
}

/* ---- sets ---- */

/* "metadata.name" */
static void insert_words(struct fieldset *fieldset, const char *text)
{
	struct managed_path path = { 0 };
	for (struct slice rest = slice_of(text); rest.p != NULL;) {
		CLEANUP(freep) char *word = NULL;
		struct slice one = slice_cut(&rest, '.');
		word = xstrndup(one.p, one.n);
		managed_path_push_name(&path, word);
	}
	fieldset_insert(fieldset, path.v, path.n);
	managed_path_done(&path);
}

static struct fieldset *set_of(const char *const *paths)
{
	struct fieldset *s = fieldset_new();
	for (; *paths != NULL; paths++)
		insert_words(s, *paths);
	return s;
}

static bool is_among(const struct fieldset_el *element, const char *const *names)
{
	for (; element->type == FIELDSET_NAME && *names != NULL; names++) {
		if (strcmp(element->name, *names) == 0)
			return true;
	}
	return false;
}

/* Fields that nobody owns; of metadata itself these. */
static const char *const unowned_top[] = { "apiVersion", "kind", "metadata", NULL };
static const char *const unowned_metadata[] = { "name",	      "namespace",     "creationTimestamp",
						"selfLink",   "uid",	       "clusterName",
						"generation", "managedFields", "resourceVersion",
						NULL };

/* Without the members of these names; what is below them stays, of metadata without the unowned. */
static struct fieldset *without_names(const struct fieldset *fieldset, const char *const *names)
{
	struct fieldset *out = fieldset_new();
	for (size_t i = 0; i < fieldset->n; i++) {
		const struct fieldset_node *node = &fieldset->v[i];
		bool named = is_among(node->el, names);
		bool metadata =
			named && names == unowned_top && strcmp(node->el->name, "metadata") == 0;
		struct fieldset *sub = node->sub;
		if (sub != NULL)
			sub = metadata ? without_names(sub, unowned_metadata) : fieldset_ref(sub);
		if (sub != NULL && fieldset_empty(sub)) {
			fieldset_unref(sub);
			sub = NULL;
		}
		if (sub == NULL && (named || !node->member))
			continue;
		vec_push(out, (struct fieldset_node){ .el = fieldset_el_ref(node->el),
						      .sub = sub,
						      .member = node->member && !named });
	}
	return out;
}

struct fieldset *managed_set_remove_unowned(struct fieldset *fieldset)
{
	for (size_t i = 0; i < fieldset->n; i++) {
		if (is_among(fieldset->v[i].el, unowned_top))
			return without_names(fieldset, unowned_top);
	}
	return fieldset_ref(fieldset);
}

void managed_set_combine(struct fieldset **fieldset,
			 struct fieldset *(*op)(struct fieldset *, struct fieldset *),
			 struct fieldset *with)
{
	struct fieldset *out = op(*fieldset, with);
	fieldset_unref(*fieldset);
	*fieldset = out;
}

/* ---- objects ---- */

json_t *managed_object_with_fields(const json_t *object, json_t *managed)
{
	json_t *out = api_tree_copy(object);
	json_t *meta = json_object_get(out, "metadata");
	if (managed != NULL && !json_is_object(meta)) {
		meta = json_object();
		json_object_set_new(out, "metadata", meta);
	}
	if (managed != NULL)
		json_object_set_new(meta, "managedFields", managed);
	return out;
}

void managed_write_init(struct managed_write *write, const struct api_managed_write *request)
{
	uint64_t ns;
	managed_type_memo_begin(request->schema_stays);
	*write = (struct managed_write){ .request = request,
					 .type = managed_type_root(request->schema) };
	write->create = api_uid(request->live)[0] == '\0';
	write->from = api_managed_strip(request->live);
	if (request->reset != NULL)
		write->reset = set_of(request->reset);
	if (api_time_parse(request->time, &ns) == 0)
		write->now_s = (int64_t)(ns / 1000000000U);
}

void managed_write_done(struct managed_write *write)
{
	json_decref(write->from);
	fieldset_unref(write->reset);
	managed_type_memo_end();
}

bool managed_write_has_version(const struct api_managed_write *write, const char *version)
{
	if (strcmp(version, write->api_version) == 0)
		return true;
	for (const char *const *v = write->versions; v != NULL && *v != NULL; v++) {
		if (strcmp(*v, version) == 0)
			return true;
	}
	return false;
}

void managed_write_reconcile(const struct managed_write *write, struct managed_entries *entries)
{
	for (size_t i = entries->n; i-- > 0;) {
		if (managed_write_has_version(write->request, entries->v[i].api_version))
			managed_entry_set(&entries->v[i],
					  managed_fields_reconcile(write->type, entries->v[i].set));
		else
			managed_entries_del(entries, i);
	}
}

/* ---- what changed, and who owned it ---- */

void managed_changes_done(struct managed_changes *changes)
{
	managed_change_done(&changes->own);
	managed_change_done(&changes->others);
}

void managed_changes_init(const struct managed_write *write, const json_t *to,
			  struct managed_changes *changes)
{
	managed_compare(write->type, write->from, to, &changes->others);
	changes->own = (struct managed_change){ fieldset_ref(changes->others.removed),
						fieldset_ref(changes->others.modified),
						fieldset_ref(changes->others.added) };
	managed_change_without(&changes->own, write->reset);
}

static const struct managed_change *change_for(const struct managed_write *write,
					       const struct managed_changes *changes,
					       const struct managed_entry *entry)
{
	return strcmp(entry->api_version, write->request->api_version) == 0 ? &changes->own
									    : &changes->others;
}

void managed_write_conflicts(const struct managed_write *write, struct managed_entries *entries,
			     const char *self, const struct managed_changes *changes,
			     struct managed_losses *ret)
{
	for (size_t i = 0; i < entries->n; i++) {
		const struct managed_change *ch = change_for(write, changes, &entries->v[i]);
		if (self != NULL && strcmp(managed_entry_id(&entries->v[i]), self) == 0)
			continue;
		struct fieldset *set = fieldset_union(ch->modified, ch->added);
		struct fieldset *owned = fieldset_intersection(entries->v[i].set, set);
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

void managed_write_take_ownership(const struct managed_write *write,
				  struct managed_entries *entries, const char *self,
				  const struct managed_changes *changes,
				  const struct managed_losses *losses)
{
	for (size_t i = 0; i < losses->n; i++)
		managed_set_combine(&entries->v[losses->v[i].at].set, fieldset_difference,
				    losses->v[i].set);
	for (size_t i = entries->n; i-- > 0;) {
		if (self == NULL || strcmp(managed_entry_id(&entries->v[i]), self) != 0)
			managed_set_combine(&entries->v[i].set, fieldset_difference,
					    change_for(write, changes, &entries->v[i])->removed);
		if (fieldset_empty(entries->v[i].set))
			managed_entries_del(entries, i);
	}
}

struct managed_entry *managed_write_own_entry(const struct managed_write *write,
					      struct managed_entries *entries, const char *manager,
					      bool applied)
{
	const struct managed_writer writer = { .manager = manager,
					       .api_version = write->request->api_version,
					       .subresource = write->request->subresource,
					       .applied = applied };
	return managed_entries_add(entries, &writer);
}

void managed_write_update(const struct managed_write *write, struct managed_entries *entries,
			  const json_t *to, const char *manager)
{
	struct managed_changes c;
	struct managed_losses t = { 0 };
	managed_write_reconcile(write, entries);
	managed_changes_init(write, to, &c);
	managed_write_conflicts(write, entries, NULL, &c, &t);
	managed_write_take_ownership(write, entries, NULL, &c, &t);
	managed_losses_done(&t);
	struct fieldset *mine = fieldset_union(c.own.modified, c.own.added);
	struct fieldset *set = managed_set_remove_unowned(mine);
	fieldset_unref(mine);
	if (!fieldset_empty(set)) {
		struct managed_entry *e = managed_write_own_entry(write, entries, manager, false);
		managed_entry_set(e, fieldset_union(set, e->set));
		e->time_s = write->now_s;
	}
	fieldset_unref(set);
	managed_changes_done(&c);
	managed_entries_cap(entries);
}
