/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Server-side apply: merges the applied configuration into the object and makes the applier its owner;
 * fields that it applied before and left out now are removed unless others own them. */
#include "api/apply/apply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/apply/schema_check_priv.h"
#include "api/apply/compare_priv.h"
#include "api/apply/conflict_priv.h"
#include "api/apply/fields_priv.h"
#include "api/apply/last_applied_priv.h"
#include "api/apply/merge_priv.h"
#include "api/apply/ownership_priv.h"
#include "api/apply/same_fields_priv.h"
#include "api/meta.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"

static struct fieldset *named_fields(const struct managed_write *write, const json_t *object)
{
	struct fieldset *all = managed_fields(write->type, object);
	struct fieldset *out = managed_fields_named(write->type, all);
	fieldset_unref(all);
	return out;
}

/* Puts back into `pruned` what the entries of a version own of `merged`. */
static void add_back(const struct managed_write *write, const struct managed_entries *entries,
		     const char *version, const json_t *merged, json_t **pruned)
{
	struct fieldset *keep = named_fields(write, *pruned), *gone = named_fields(write, merged);
	for (size_t i = 0; i < entries->n; i++) {
		if (strcmp(entries->v[i].api_version, version) != 0)
			continue;
		struct fieldset *owned = managed_fields_named(write->type, entries->v[i].set);
		managed_set_combine(&keep, fieldset_union, owned);
		fieldset_unref(owned);
	}
	managed_set_combine(&gone, fieldset_difference, keep);
	json_decref(*pruned);
	*pruned = managed_remove(write->type, merged, gone);
	fieldset_unref(keep);
	fieldset_unref(gone);
}

static bool first_of_version(const struct managed_entries *entries, size_t index)
{
	for (size_t j = 0; j < index; j++) {
		if (strcmp(entries->v[j].api_version, entries->v[index].api_version) == 0)
			return false;
	}
	return true;
}

static bool is_part_of(struct fieldset *part, struct fieldset *whole)
{
	struct fieldset *rest = fieldset_difference(part, whole);
	bool none = fieldset_empty(rest);
	fieldset_unref(rest);
	return none;
}

/* Removes the fields that the applier applied last time and leaves out now, unless others own them.
 * Takes ownership of `merged`. */
static json_t *prune_removed(const struct managed_write *write,
			     const struct managed_entries *entries, json_t *merged,
			     struct fieldset *last, struct fieldset *now)
{
	if (last == NULL || is_part_of(last, now))
		return merged;
	struct fieldset *said = managed_fields_named(write->type, last);
	json_t *pruned = managed_remove(write->type, merged, said);
	for (size_t i = 0; i < entries->n; i++) {
		if (first_of_version(entries, i))
			add_back(write, entries, entries->v[i].api_version, merged, &pruned);
	}
	/* Removing a parent also removed fields below it that this manager never applied: restore
	 * them, so that only fields it applied are removed. */
	struct fieldset *gone = named_fields(write, merged), *rest = named_fields(write, pruned);
	managed_set_combine(&gone, fieldset_difference, rest);
	managed_set_combine(&gone, fieldset_intersection, said);
	json_decref(pruned);
	pruned = managed_remove(write->type, merged, gone);
	fieldset_unref(gone);
	fieldset_unref(rest);
	fieldset_unref(said);
	json_decref(merged);
	return pruned;
}

/* Sets the applier's entry to the fields of `config`; *ret_last is its set before. */
static struct managed_entry *update_own_entry(const struct managed_write *write,
					      struct managed_entries *entries, const json_t *config,
					      struct fieldset **ret_last)
{
	struct managed_entry *e =
		managed_write_own_entry(write, entries, write->request->manager, true);
	struct fieldset *set = managed_fields(write->type, config);
	if (write->reset != NULL)
		managed_set_combine(&set, fieldset_without, write->reset);
	*ret_last = fieldset_ref(e->set);
	managed_entry_set(e, set);
	return e;
}

/* Takes fields from other managers, or finds that they keep them. Where the applier is the only one,
 * nobody can lose anything, and what changes does not matter. */
static void settle_with_others(const struct managed_write *write, struct managed_entries *entries,
			       const char *self, const json_t *to, bool force,
			       struct managed_losses *conflicts)
{
	struct managed_changes c;
	if (entries->n == 1)
		return;
	managed_changes_init(write, to, &c);
	managed_write_conflicts(write, entries, self, &c, conflicts);
	if (force || conflicts->n == 0)
		managed_write_take_ownership(write, entries, self, &c, conflicts);
	managed_changes_done(&c);
}

/* One try. `entries` holds the entries afterwards; with conflicts it is of no use. NULL: nothing
 * changes.
 */
static json_t *apply_entries(const struct managed_write *write, struct managed_entries *entries,
			     const json_t *config, bool force, struct managed_losses *conflicts)
{
	struct fieldset *last;
	managed_write_reconcile(write, entries);
	struct managed_entry *own = update_own_entry(write, entries, config, &last);
	CLEANUP(freep) char *self = xstrdup(managed_entry_id(own));
	json_t *to = prune_removed(write, entries, managed_merge(write->type, write->from, config),
				   last, own->set);
	fieldset_unref(last);
	settle_with_others(write, entries, self, to, force, conflicts);
	if (managed_equal(write->from, to)) {
		json_decref(to);
		to = NULL;
	}
	struct managed_entry *e = managed_entries_find(entries, self);
	if (e == NULL || (!force && conflicts->n > 0))
		return to;
	managed_entry_set(e, managed_set_remove_unowned(e->set));
	if (to != NULL)
		e->time_s = write->now_s;
	if (fieldset_empty(e->set))
		managed_entries_del(entries, (size_t)(e - entries->v));
	return to;
}

/* Fields that kubectl set itself by client-side apply are no conflicts. True: no conflicts are left. */
static bool allow_own_kubectl(const struct managed_write *write, struct managed_losses *conflicts)
{
	if (strcmp(write->request->manager, "kubectl") != 0)
		return false;
	struct fieldset *allowed =
		managed_last_applied_fields(write->type, write->request->api_version, write->from);
	if (allowed == NULL)
		return false;
	bool none = true;
	for (size_t i = 0; i < conflicts->n; i++) {
		managed_set_combine(&conflicts->v[i].set, fieldset_difference, allowed);
		none = none && fieldset_empty(conflicts->v[i].set);
	}
	fieldset_unref(allowed);
	return none;
}

static int by_id(const void *left, const void *right)
{
	return strcmp(managed_entry_id(*(struct managed_entry *const *)left),
		      managed_entry_id(*(struct managed_entry *const *)right));
}

static void report_conflicts(struct managed_entries *entries, const struct managed_losses *losses,
			     struct api_conflicts *ret)
{
	struct managed_entry **who = xcalloc(losses->n, sizeof(*who));
	for (size_t i = 0; i < losses->n; i++)
		who[i] = &entries->v[losses->v[i].at];
	qsort(who, losses->n, sizeof(*who), by_id);
	for (size_t i = 0; i < losses->n; i++) {
		for (size_t j = 0; j < losses->n; j++) {
			if (&entries->v[losses->v[j].at] == who[i])
				managed_conflicts_add(ret, who[i], losses->v[j].set);
		}
	}
	free(who);
}

/* Applies to the entries and returns the object, without managedFields. */
static int apply_checked(struct managed_write *write, struct managed_entries *entries,
			 const json_t *config, bool force, json_t **ret,
			 struct api_conflicts *conflicts)
{
	struct managed_entries try;
	struct managed_losses t = { 0 };
	managed_entries_copy(&try, entries);
	json_t *to = apply_entries(write, &try, config, force, &t);
	int r = 0;
	if (!force && t.n > 0 && allow_own_kubectl(write, &t)) {
		json_decref(to);
		managed_entries_done(&try);
		managed_losses_done(&t);
		managed_entries_copy(&try, entries);
		to = apply_entries(write, &try, config, true, &t);
	} else if (!force && t.n > 0) {
		report_conflicts(&try, &t, conflicts);
		r = ERR_CONFLICT;
	}
	managed_losses_done(&t);
	managed_entries_done(entries);
	*entries = try;
	if (r == 0)
		*ret = to != NULL ? to : json_incref(write->from);
	else
		json_decref(to);
	return r;
}

/* The first apply of an object: its present fields get the owner "before-first-apply". */
static void before_first(struct managed_write *write, struct managed_entries *entries)
{
	json_t *live = write->from;
	if (write->create || entries->n > 0)
		return;
	write->from = json_object();
	managed_write_update(write, entries, live, "before-first-apply");
	json_decref(write->from);
	write->from = live;
}

/* "default/x; /v1, Kind=ConfigMap" */
static void object_text(struct strbuf *out, const json_t *object)
{
	const char *version = api_version(object), *slash = strchr(version, '/');
	size_t group = slash != NULL ? (size_t)(slash - version) : 0;
	strbuf_addf(out, "%s/%s; %.*s/%s, Kind=%s", api_namespace(object), api_name(object),
		    (int)group, version, slash != NULL ? slash + 1 : version, api_kind(object));
}

static int check_both(const struct managed_write *write, const json_t *config, struct err_text err)
{
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT, what = STRBUF_INIT;
	const struct {
		const char *name;
		const json_t *o;
		bool twice;
	} both[] = { { "patch", config, false }, { "live", write->from, true } };
	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		int r = managed_schema_check(write->type, both[i].o, both[i].twice, &why);
		if (r == 0)
			continue;
		object_text(&what, both[i].o);
		if (r == ERR_LIMIT)
			err_text_set(err, "%s", why.s);
		else
			err_text_set(err, "failed to create typed %s object (%s): %s", both[i].name,
				     what.s, why.s);
		return r;
	}
	return 0;
}

static int apply_config(struct managed_write *write, const json_t *config, bool force, json_t **ret,
			struct api_conflicts *conflicts, struct err_text err)
{
	struct managed_entries l;
	json_t *to = NULL;
	if (json_is_array(api_managed_fields(config))) {
		err_text_set(err, "metadata.managedFields must be nil");
		return ERR_CONFIG;
	}
	int r = check_both(write, config, err);
	if (r < 0)
		return r;
	/* kubectl's last applied configuration is kept, too. */
	if (strcmp(write->request->manager, "kubectl") != 0 &&
	    managed_apply_same_fields(write, config, ret))
		return 0;
	r = managed_entries_read(&l, api_managed_fields(write->request->live), true);
	if (r < 0) {
		err_text_set(err, "failed to decode managed fields: %s", err_str(r));
		return r;
	}
	before_first(write, &l);
	r = apply_checked(write, &l, config, force, &to, conflicts);
	if (r == 0 && l.n > API_MANAGED_ENTRIES_MAX) {
		err_text_set(err, "the object has more than %d managers", API_MANAGED_ENTRIES_MAX);
		r = ERR_LIMIT;
	} else if (r == 0) {
		*ret = managed_object_with_fields(to, managed_entries_write(&l));
		if (strcmp(write->request->manager, "kubectl") == 0)
			managed_last_applied_set(*ret, config);
	}
	json_decref(to);
	managed_entries_done(&l);
	return r;
}

int api_managed_apply(const struct api_managed_write *write, const json_t *config, bool force,
		      json_t **ret, struct api_conflicts *conflicts, struct err_text err)
{
	struct managed_write x;
	managed_write_init(&x, write);
	int r = apply_config(&x, config, force, ret, conflicts, err);
	managed_write_done(&x);
	return r;
}
