/* SPDX-License-Identifier: GPL-3.0-or-later */
/* managedFields after an update, and times that stay where nothing changed. */
#include "api/apply/managed.h"

#include <stdio.h>
#include <string.h>

#include "api/apply/schema_check_priv.h"
#include "api/apply/compare_priv.h"
#include "api/apply/entry_priv.h"
#include "api/apply/ownership_priv.h"
#include "base/err.h"
#include "base/err_text.h"

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
	const json_t *sent = managed_object_fields(object);
	*entries = (struct managed_entries){ 0 };
	if (write->request->subresource[0] == '\0') {
		if (is_reset(write, sent))
			return;
		if (managed_entries_read(entries, sent) == 0 && are_usable(write, entries))
			return;
		managed_entries_done(entries);
	}
	/* What cannot be read is as if it were not there. */
	IGNORE(managed_entries_read(entries, managed_object_fields(write->request->live)));
}

int api_managed_update(const struct api_managed_write *write, const json_t *object, json_t **ret,
		       struct err_text err)
{
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT;
	struct managed_entries l;
	struct managed_write x;
	managed_write_init(&x, write);
	json_t *to = managed_object_strip(object);
	entries_before(&x, object, &l);
	int r = managed_schema_check(x.type, to, true, &why);
	if (r == 0)
		r = managed_schema_check(x.type, x.from, true, &why);
	if (r == 0) {
		if (x.create || l.n > 0)
			managed_write_update(&x, &l, to, write->manager);
		*ret = managed_object_with_fields(to, managed_entries_write(&l));
	} else if (r == ERR_TYPE) {
		*ret = managed_object_with_fields(
			to, json_deep_copy(managed_object_fields(write->live)));
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
	json_t *copy = json_deep_copy(managed);
	json_array_foreach (copy, i, e)
		json_object_del(e, "time");
	return copy;
}

void api_managed_keep_times(const json_t *old, json_t *object)
{
	const json_t *before = managed_object_fields(old), *after = managed_object_fields(object);
	if (json_array_size(before) == 0 || json_array_size(before) != json_array_size(after))
		return;
	json_t *a = without_times(before), *b = without_times(after);
	json_t *x = managed_object_strip(old), *y = managed_object_strip(object);
	if (managed_equal(a, b) && managed_equal(x, y))
		json_object_set_new(json_object_get(object, "metadata"), "managedFields",
				    json_deep_copy(before));
	json_decref(a);
	json_decref(b);
	json_decref(x);
	json_decref(y);
}
