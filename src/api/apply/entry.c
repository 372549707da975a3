/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entries of managedFields: reading, writing, finding, and merging them when there are too many. */
#include "api/apply/entry_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/apply/managed.h"
#include "api/time.h"
#include "api/tree.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"

enum { UPDATERS_MAX = 10 };

static void entry_done(struct managed_entry *entry)
{
	free(entry->id);
	free(entry->manager);
	free(entry->api_version);
	free(entry->subresource);
	fieldset_unref(entry->set);
	fieldset_unref(entry->read_set);
}

void managed_entries_done(struct managed_entries *entries)
{
	for (size_t i = 0; i < entries->n; i++)
		entry_done(&entries->v[i]);
	vec_done(entries);
}

void managed_entry_set(struct managed_entry *entry, struct fieldset *set)
{
	fieldset_unref(entry->set);
	entry->set = set;
}

static struct managed_writer writer_of(const struct managed_entry *entry)
{
	return (struct managed_writer){ .manager = entry->manager,
					.api_version = entry->api_version,
					.subresource = entry->subresource,
					.applied = entry->applied };
}

void managed_entries_copy(struct managed_entries *to, const struct managed_entries *from)
{
	*to = (struct managed_entries){ 0 };
	for (size_t i = 0; i < from->n; i++) {
		const struct managed_writer writer = writer_of(&from->v[i]);
		struct managed_entry *e = managed_entries_add(to, &writer);
		managed_entry_set(e, fieldset_ref(from->v[i].set));
		e->time_s = from->v[i].time_s;
	}
}

/* An applier is the same one in whatever version it writes. The order of such texts is that in
 * which conflicts are reported. */
static char *make_id(const struct managed_entry *entry)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	strbuf_addc(&b, '{');
	if (entry->manager[0] != '\0') {
		strbuf_adds(&b, "\"manager\":");
		strbuf_add_json(&b, slice_of(entry->manager));
		strbuf_addc(&b, ',');
	}
	strbuf_adds(&b, entry->applied ? "\"operation\":\"Apply\"" : "\"operation\":\"Update\"");
	if (!entry->applied) {
		strbuf_adds(&b, ",\"apiVersion\":");
		strbuf_add_json(&b, slice_of(entry->api_version));
	}
	if (entry->subresource[0] != '\0') {
		strbuf_adds(&b, ",\"subresource\":");
		strbuf_add_json(&b, slice_of(entry->subresource));
	}
	strbuf_addc(&b, '}');
	return strbuf_take(&b);
}

const char *managed_entry_id(struct managed_entry *entry)
{
	if (entry->id == NULL)
		entry->id = make_id(entry);
	return entry->id;
}

struct managed_entry *managed_entries_find(struct managed_entries *entries, const char *id)
{
	for (size_t i = 0; i < entries->n; i++) {
		if (strcmp(managed_entry_id(&entries->v[i]), id) == 0)
			return &entries->v[i];
	}
	return NULL;
}

/* Whether their ids are equal. */
static bool is_of_writer(const struct managed_entry *entry, const struct managed_writer *writer)
{
	return entry->applied == writer->applied && strcmp(entry->manager, writer->manager) == 0 &&
	       strcmp(entry->subresource, writer->subresource) == 0 &&
	       (entry->applied || strcmp(entry->api_version, writer->api_version) == 0);
}

struct managed_entry *managed_entries_add(struct managed_entries *entries,
					  const struct managed_writer *writer)
{
	for (size_t i = 0; i < entries->n; i++) {
		struct managed_entry *e = &entries->v[i];
		if (is_of_writer(e, writer)) {
			free(e->api_version);
			e->api_version = xstrdup(writer->api_version);
			return e;
		}
	}
	struct managed_entry *e = vec_add(entries);
	e->manager = xstrdup(writer->manager);
	e->api_version = xstrdup(writer->api_version);
	e->subresource = xstrdup(writer->subresource);
	e->applied = writer->applied;
	e->set = fieldset_new();
	return e;
}

void managed_entries_del(struct managed_entries *entries, size_t index)
{
	assert(index < entries->n);
	entry_done(&entries->v[index]);
	memmove(&entries->v[index], &entries->v[index + 1],
		(entries->n - index - 1) * sizeof(*entries->v));
	entries->n--;
}

/* ---- reading and writing ---- */

static int read_time(const json_t *value, int64_t *ret)
{
	const json_t *t = json_object_get(value, "time");
	uint64_t ns;
	*ret = 0;
	if (t == NULL || json_is_null(t))
		return 0;
	if (!json_is_string(t) || api_time_parse(api_text(t), &ns) < 0)
		return ERR_PARSE;
	*ret = (int64_t)(ns / 1000000000U);
	return 0;
}

static int read_entry(struct managed_entries *entries, const json_t *value, bool written)
{
	const json_t *fields = json_object_get(value, "fieldsV1");
	const char *operation = api_member_text(value, "operation");
	const struct managed_writer writer = {
		.manager = api_member_text(value, "manager"),
		.api_version = api_member_text(value, "apiVersion"),
		.subresource = api_member_text(value, "subresource"),
		.applied = strcmp(operation, "Apply") == 0,
	};
	struct fieldset *set = NULL;
	int64_t time_s;
	if ((!writer.applied && strcmp(operation, "Update") != 0) ||
	    writer.api_version[0] == '\0' ||
	    strcmp(api_member_text(value, "fieldsType"), "FieldsV1") != 0 ||
	    read_time(value, &time_s) < 0)
		return ERR_PARSE;
	if (fields == NULL || json_is_null(fields))
		set = fieldset_new();
	int r = set != NULL ? 0 : fieldset_parse(fields, &set);
	if (r < 0)
		return r;
	struct managed_entry *e = managed_entries_add(entries, &writer);
	managed_entry_set(e, set);
	e->time_s = time_s;
	fieldset_unref(e->read_set);
	written = written && json_is_object(fields);
	e->read_set = written ? fieldset_ref(set) : NULL;
	e->fields = written ? api_tree(fields) : NULL;
	e->read = written ? api_tree(value) : NULL;
	e->read_time_s = time_s;
	return 0;
}

int managed_entries_read(struct managed_entries *entries, const json_t *managed_fields,
			 bool written)
{
	size_t i;
	json_t *v;
	*entries = (struct managed_entries){ 0 };
	if (json_array_size(managed_fields) > API_MANAGED_ENTRIES_MAX)
		return ERR_LIMIT;
	json_array_foreach (managed_fields, i, v) {
		int r = read_entry(entries, v, written);
		if (r < 0) {
			managed_entries_done(entries);
			return r;
		}
	}
	return 0;
}

static int by_time(const void *left, const void *right)
{
	const struct managed_entry *x = left, *y = right;
	int c;
	if (x->applied != y->applied)
		return x->applied ? -1 : 1;
	if (x->time_s != y->time_s)
		return x->time_s < y->time_s ? -1 : 1;
	if ((c = strcmp(x->manager, y->manager)) != 0 ||
	    (c = strcmp(x->api_version, y->api_version)) != 0)
		return c;
	return strcmp(x->subresource, y->subresource);
}

static json_t *write_fields(const struct managed_entry *entry)
{
	if (entry->fields != NULL && entry->set == entry->read_set)
		return json_incref(entry->fields);
	return fieldset_write(entry->set);
}

/* Would the entry be written as it was read? */
static bool is_as_read(const struct managed_entry *entry)
{
	return entry->read != NULL && entry->set == entry->read_set &&
	       entry->time_s == entry->read_time_s &&
	       (entry->time_s != 0) == (json_object_get(entry->read, "time") != NULL) &&
	       strcmp(entry->api_version, api_text(json_object_get(entry->read, "apiVersion"))) ==
		       0;
}

/* Of ASCII texts, which need no check. */
static void set_plain(json_t *object, const char *key, const char *text)
{
	json_object_set_new_nocheck(object, key, json_string_nocheck(text));
}

static json_t *write_entry(const struct managed_entry *entry)
{
	if (is_as_read(entry))
		return json_incref(entry->read);
	char time[API_TIME_TEXT_MAX];
	json_t *v = json_object();
	if (entry->manager[0] != '\0')
		json_object_set_new_nocheck(v, "manager", json_string(entry->manager));
	set_plain(v, "operation", entry->applied ? "Apply" : "Update");
	json_object_set_new_nocheck(v, "apiVersion", json_string(entry->api_version));
	if (entry->time_s != 0)
		set_plain(v, "time", api_time_format((uint64_t)entry->time_s * 1000000000U, time));
	set_plain(v, "fieldsType", "FieldsV1");
	json_object_set_new_nocheck(v, "fieldsV1", write_fields(entry));
	if (entry->subresource[0] != '\0')
		json_object_set_new_nocheck(v, "subresource", json_string(entry->subresource));
	return v;
}

json_t *managed_entries_write(const struct managed_entries *entries)
{
	if (entries->n == 0)
		return NULL;
	struct managed_entry *sorted = xmemdup(entries->v, entries->n * sizeof(*entries->v));
	json_t *out = json_array();
	qsort(sorted, entries->n, sizeof(*sorted), by_time);
	for (size_t i = 0; i < entries->n; i++)
		json_array_append_new(out, write_entry(&sorted[i]));
	free(sorted);
	return out;
}

/* ---- too many ---- */

static int by_age(const void *left, const void *right)
{
	const struct managed_entry *x = left, *y = right;
	if (x->time_s != y->time_s)
		return x->time_s < y->time_s ? -1 : 1;
	return strcmp(x->id, y->id);
}

/* The updaters as they were, oldest first. */
static void list_updaters(const struct managed_entries *entries, struct managed_entries *ret)
{
	*ret = (struct managed_entries){ 0 };
	for (size_t i = 0; i < entries->n; i++) {
		if (!entries->v[i].applied)
			vec_push(ret, entries->v[i]);
	}
	for (size_t i = 0; i < ret->n; i++) {
		struct managed_entry *e = &ret->v[i];
		e->id = make_id(e);
		e->manager = xstrdup(e->manager);
		e->api_version = xstrdup(e->api_version);
		e->subresource = xstrdup(e->subresource);
		fieldset_ref(e->set);
		e->read_set = NULL;
		e->fields = e->read = NULL;
	}
	if (ret->n > 0)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_age);
}

static void drop_entry(struct managed_entries *entries, const char *id)
{
	struct managed_entry *e = managed_entries_find(entries, id);
	if (e != NULL)
		managed_entries_del(entries, (size_t)(e - entries->v));
}

/* Adds an updater's fields to the bucket of its version, which is made of the first one. */
static void merge_into_ancient(struct managed_entries *entries, const struct managed_entry *first,
			       const struct managed_entry *entry)
{
	size_t before = entries->n;
	struct managed_entry *bucket = managed_entries_add(
		entries, &(struct managed_writer){ .manager = "ancient-changes",
						   .api_version = entry->api_version,
						   .subresource = "" });
	if (entries->n > before)
		managed_entry_set(bucket, fieldset_ref(first->set));
	managed_entry_set(bucket, fieldset_union(entry->set, bucket->set));
	bucket->time_s = entry->time_s;
	if (entries->n > before)
		drop_entry(entries, first->id);
	drop_entry(entries, entry->id);
}

void managed_entries_cap(struct managed_entries *entries)
{
	struct managed_entries old;
	if (entries->n <= UPDATERS_MAX)
		return;
	list_updaters(entries, &old);
	for (size_t i = 0, left = old.n; i < old.n && left > UPDATERS_MAX; i++) {
		size_t first = 0;
		while (strcmp(old.v[first].api_version, old.v[i].api_version) != 0)
			first++;
		if (first == i)
			continue;
		merge_into_ancient(entries, &old.v[first], &old.v[i]);
		left--;
	}
	managed_entries_done(&old);
}
