/* SPDX-License-Identifier: GPL-3.0-or-later */
/* managedFields after an update, and times that stay where nothing changed. */
#include "api/apply/managed.h"

#include <string.h>

#include "api/apply/schema_check_priv.h"
#include "api/apply/compare_priv.h"
#include "api/apply/entry_priv.h"
#include "api/apply/ownership_priv.h"
#include "api/meta.h"
#include "api/tree.h"
#include "api/tree_copy.h"
#include "base/err.h"
#include "base/err_text.h"

static json_t *copy_without_managed(const json_t *metadata)
{
	json_t *copy = json_object(), *value;
	const char *key;
	size_t n;
	json_object_keylen_foreach(api_tree(metadata), key, n, value)
	{
		if (strcmp(key, "managedFields") != 0)
			json_object_setn_new_nocheck(copy, key, n, json_incref(value));
	}
	return copy;
}

json_t *api_managed_strip(const json_t *object)
{
	const json_t *metadata = json_object_get(object, "metadata");
	json_t *copy = json_object(), *value;
	const char *key;
	size_t n;
	json_object_keylen_foreach(api_tree(object), key, n, value) json_object_setn_new_nocheck(
		copy, key, n,
		value == metadata && json_is_object(value) ? copy_without_managed(value)
							   : json_incref(value));
	return copy;
}

/* Objects of CRDs lose an empty list when they are read. */
static bool is_reset(const struct managed_write *write, const json_t *managed)
{
	size_t n = json_array_size(managed);
	if (n == 0)
		return json_is_array(managed) && write->request->built_in;
	return n == 1 && json_object_size(json_array_get(managed, 0)) == 0;
}

/* Can the managedFields that the client sent be used? An unknown apiVersion makes the server
 * ignore all of them for objects of CRDs; for built-in kinds only that entry is dropped. */
static bool are_usable(const struct managed_write *write, const struct managed_entries *entries)
{
	for (size_t i = 0; i < entries->n && !write->request->built_in; i++) {
		if (!managed_write_has_version(write->request, entries->v[i].api_version))
			return false;
	}
	return entries->n > 0;
}

/* The entries that an update starts from. */
static void entries_before(const struct managed_write *write, const json_t *object,
			   struct managed_entries *entries)
{
	const json_t *sent = api_managed_fields(object),
		     *stored = api_managed_fields(write->request->live);
	*entries = (struct managed_entries){ 0 };
	if (write->request->subresource[0] == '\0') {
		if (is_reset(write, sent))
			return;
		bool same = sent != NULL && stored != NULL && managed_equal(sent, stored);
		if (managed_entries_read(entries, same ? stored : sent, same) == 0 &&
		    are_usable(write, entries))
			return;
		managed_entries_done(entries);
	}
	/* What cannot be read is as if it were not there. */
	IGNORE(managed_entries_read(entries, stored, true));
}

/* The stripped copy with these managedFields, which may be NULL; takes ownership of both. */
static json_t *add_fields(json_t *stripped, json_t *managed)
{
	json_t *meta = json_object_get(stripped, "metadata");
	if (managed == NULL)
		return stripped;
	if (!json_is_object(meta)) {
		meta = json_object();
		json_object_set_new_nocheck(stripped, "metadata", meta);
	}
	json_object_set_new_nocheck(meta, "managedFields", managed);
	return stripped;
}

/* The members of `from` that `to` does not have, or has otherwise; a new reference. */
static json_t *changed_members(const json_t *from, const json_t *to)
{
	json_t *changed = json_object(), *value;
	const char *key;
	json_object_foreach (api_tree(from), key, value) {
		const json_t *now = json_object_get(to, key);
		if (now == NULL || !managed_equal(value, now))
			json_object_set_nocheck(changed, key, value);
	}
	return changed;
}

/* What the write changes of the stored object, member by member, also of its metadata: the rest is
 * checked with the new one. A new reference. */
static json_t *changed_parts(const json_t *from, const json_t *to)
{
	json_t *changed = changed_members(from, to);
	const json_t *was = json_object_get(changed, "metadata"),
		     *now = json_object_get(to, "metadata");
	if (json_is_object(was) && json_is_object(now))
		json_object_set_new(changed, "metadata", changed_members(was, now));
	return changed;
}

int api_managed_update(const struct api_managed_write *write, const json_t *object, json_t **ret,
		       struct err_text err)
{
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT;
	struct managed_entries l;
	struct managed_write x;
	managed_write_init(&x, write);
	json_t *to = api_managed_strip(object);
	entries_before(&x, object, &l);
	int r = managed_schema_check(x.type, to, true, &why);
	if (r == 0) {
		json_t *changed = changed_parts(x.from, to);
		r = managed_schema_check(x.type, changed, true, &why);
		json_decref(changed);
	}
	if (r == 0) {
		if (x.create || l.n > 0)
			managed_write_update(&x, &l, to, write->manager);
		*ret = add_fields(TAKE_PTR(to), managed_entries_write(&l));
	} else if (r == ERR_TYPE) {
		*ret = add_fields(TAKE_PTR(to), api_tree_copy(api_managed_fields(write->live)));
		r = 0;
	} else {
		err_text_set(err, "%s", why.s);
	}
	managed_entries_done(&l);
	json_decref(to);
	managed_write_done(&x);
	return r;
}

/* ---- writes that change nothing but times ---- */

static json_t *without_times(const json_t *managed)
{
	size_t i;
	json_t *e;
	json_t *copy = api_tree_copy(managed);
	json_array_foreach (copy, i, e)
		json_object_del(e, "time");
	return copy;
}

static bool is_same_but_times(const json_t *before, const json_t *after)
{
	json_t *a = without_times(before), *b = without_times(after);
	bool same = managed_equal(a, b);
	json_decref(a);
	json_decref(b);
	return same;
}

/* Whether two objects have equal members, apart from the one of this name. */
static bool are_equal_except(const json_t *left, const json_t *right, const char *name)
{
	const size_t skipped_left = json_object_get(left, name) != NULL;
	const size_t skipped_right = json_object_get(right, name) != NULL;
	const char *key;
	json_t *value;
	if (json_object_size(left) - skipped_left != json_object_size(right) - skipped_right)
		return false;
	json_object_foreach (api_tree(left), key, value) {
		const json_t *other = json_object_get(right, key);
		if (strcmp(key, name) != 0 && (other == NULL || !managed_equal(value, other)))
			return false;
	}
	return true;
}

/* Apart from managedFields. */
static bool is_same_object(const json_t *old, const json_t *object)
{
	return are_equal_except(old, object, "metadata") &&
	       are_equal_except(json_object_get(old, "metadata"),
				json_object_get(object, "metadata"), "managedFields");
}

void api_managed_keep_times(const json_t *old, json_t *object)
{
	const json_t *before = api_managed_fields(old), *after = api_managed_fields(object);
	if (json_array_size(before) == 0 || json_array_size(before) != json_array_size(after))
		return;
	if (is_same_object(old, object) && is_same_but_times(before, after))
		json_object_set_new(json_object_get(object, "metadata"), "managedFields",
				    api_tree_copy(before));
}
