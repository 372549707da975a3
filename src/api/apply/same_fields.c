/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the fields of a configuration with the stored entry as it was written, which saves reading
 * the entry into a set and writing it again. What is not exactly as expected is left to apply.c. */
#include "api/apply/same_fields_priv.h"

#include <string.h>

#include "api/apply/compare_priv.h"
#include "api/apply/fields_priv.h"
#include "api/apply/merge_priv.h"
#include "api/meta.h"
#include "api/time.h"
#include "api/tree.h"
#include "api/tree_copy.h"
#include "base/clock.h"
#include "base/compiler.h"

/* Whether the entry is the writer's, with all members that an entry written here has, in order. */
static bool is_own_entry(const struct api_managed_write *request, const json_t *entry)
{
	const struct {
		const char *name, *value; /* NULL: any */
	} members[] = {
		{ "manager", request->manager },
		{ "operation", "Apply" },
		{ "apiVersion", request->api_version },
		{ "time", NULL },
		{ "fieldsType", "FieldsV1" },
		{ "fieldsV1", NULL },
		{ "subresource", request->subresource },
	};
	const size_t n = ARRAY_LEN(members) - (request->subresource[0] == '\0');
	void *at = json_object_iter(api_tree(entry));
	if (json_object_size(entry) != n)
		return false;
	for (size_t i = 0; i < n; i++, at = json_object_iter_next(api_tree(entry), at)) {
		if (strcmp(json_object_iter_key(at), members[i].name) != 0)
			return false;
		if (members[i].value != NULL &&
		    strcmp(api_text(json_object_iter_value(at)), members[i].value) != 0)
			return false;
	}
	return true;
}

/* Whether the entry has the fields of the configuration, and no others. */
static bool has_same_fields(const struct managed_write *write, const json_t *entry,
			    const json_t *config)
{
	struct fieldset *all = managed_fields(write->type, config);
	if (write->reset != NULL)
		managed_set_combine(&all, fieldset_without, write->reset);
	struct fieldset *owned = managed_set_remove_unowned(all);
	bool same = !fieldset_empty(owned) &&
		    fieldset_is_written(owned, json_object_get(entry, "fieldsV1"));
	fieldset_unref(owned);
	fieldset_unref(all);
	return same;
}

/* The entry's list with its time, in seconds since 1970. */
static json_t *copy_with_time(const json_t *fields, uint64_t time_s)
{
	char text[API_TIME_TEXT_MAX];
	json_t *copy = api_tree_copy(fields);
	json_object_set_new(json_array_get(copy, 0), "time",
			    json_string(api_time_format(time_s * NS_PER_S, text)));
	return copy;
}

bool managed_apply_same_fields(const struct managed_write *write, const json_t *config,
			       json_t **ret)
{
	const json_t *before = api_managed_fields(write->request->live);
	const json_t *entry = json_array_get(before, 0);
	uint64_t applied_ns;
	if (write->create || write->now_s == 0 || json_array_size(before) != 1 ||
	    !is_own_entry(write->request, entry) ||
	    api_time_parse(api_text(json_object_get(entry, "time")), &applied_ns) < 0 ||
	    applied_ns < NS_PER_S || !has_same_fields(write, entry, config))
		return false;
	json_t *to = managed_merge(write->type, write->from, config);
	const bool same = managed_equal(write->from, to);
	*ret = managed_object_with_fields(
		same ? write->from : to,
		copy_with_time(before, same ? applied_ns / NS_PER_S : (uint64_t)write->now_s));
	json_decref(to);
	return true;
}
