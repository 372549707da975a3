/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Creates, edits and deletes the DNSRecords of a source. */
#include "controller/dnssource/records.h"

#include <stdio.h>
#include <string.h>

#include "api/kind.h"
#include "api/meta.h"
#include "api/tree_copy.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "controller/dnssource/names.h"
#include "controller/dnssource/report.h"
#include "controller/dnssource/state.h"
#include "kube/client/client.h"
#include "kube/decode/tree.h"

enum { TAKEN_AGAIN_S = 300, OLD_OWNER_AGAIN_S = 10 };

struct write {
	struct controller_ctx *ctx;
	const json_t *source;
	struct dnssource_problems *problems;
	VEC(struct kube_obj *) records; /* of the source, in the store */
};

static int set_error(struct controller_ctx *ctx, int ret, const struct kube_status *st)
{
	snprintf(ctx->err, sizeof(ctx->err), "%s",
		 st->message[0] != '\0' ? st->message : err_str(ret));
	return ret;
}

static struct kube_ref ref_of(const json_t *record)
{
	return (struct kube_ref){ .kind = api_kind_find("extensions.gardener.cloud", "DNSRecord"),
				  .ns = api_namespace(record),
				  .name = api_name(record) };
}

/* ---- whose is it? ---- */

static bool has_our_label(const json_t *record)
{
	const char *by = api_label(record, DNSSOURCE_MANAGED_BY);
	return by != NULL && strcmp(by, DNSSOURCE_MANAGER) == 0;
}

static bool is_of_source(const json_t *record, const json_t *source)
{
	json_t *owner;
	size_t i;
	json_array_foreach (api_get(record, "metadata.ownerReferences"), i, owner) {
		if (json_is_true(json_object_get(owner, "controller")))
			return has_our_label(record) &&
			       strcmp(api_text(json_object_get(owner, "uid")), api_uid(source)) ==
				       0;
	}
	return false;
}

static bool collect_record(void *ctx, struct kube_obj *obj)
{
	struct write *write = ctx;
	if (is_of_source(kube_tree_of(obj), write->source))
		vec_push(&write->records, kube_obj_ref(obj));
	return true;
}

static const json_t *find_record(const struct write *write, const char *name)
{
	for (size_t i = 0; i < write->records.n; i++) {
		if (strcmp(write->records.v[i]->name, name) == 0)
			return kube_tree_of(write->records.v[i]);
	}
	return NULL;
}

static const json_t *find_wanted(const json_t *wanted, const char *name)
{
	json_t *object;
	size_t i;
	json_array_foreach (wanted, i, object) {
		if (strcmp(api_name(object), name) == 0)
			return object;
	}
	return NULL;
}

/* ---- differences ---- */

/* Members of the spec that are ours; others may add more. */
static const char *const members[] = { "type",	 "secretRef", "name", "recordType",
				       "values", "zone",      "ttl" };

static bool is_as_wanted(const json_t *record, const json_t *wanted)
{
	const json_t *now = api_get(record, "spec"), *should = api_get(wanted, "spec");
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		const json_t *left = json_object_get(now, members[i]);
		const json_t *right = json_object_get(should, members[i]);
		if (left != right && json_equal(left, right) == 0)
			return false;
	}
	return true;
}

/* For kube_edit. */
static int set_members(void *ctx, json_t *record)
{
	const json_t *wanted = ctx;
	json_t *spec = api_get(record, "spec");
	if (!has_our_label(record) || api_is_deleting(record) || is_as_wanted(record, wanted))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		const json_t *value = json_object_get(api_get(wanted, "spec"), members[i]);
		if (value != NULL)
			json_object_set_new(spec, members[i], api_tree_copy(value));
		else
			json_object_del(spec, members[i]);
	}
	return 1;
}

/* 0: go on; else another writer keeps changing the object, and this is how long to wait. */
static uint64_t delay_of(const struct write *write, const json_t *wanted)
{
	struct dnssource_state *state = write->ctx->state;
	char *text = json_dumps(wanted, JSON_COMPACT | JSON_SORT_KEYS);
	uint64_t hash = hash_bytes(hash_process_key(), text, strlen(text));
	free(text);
	pthread_mutex_lock(&state->lock);
	uint64_t delay = own_write_repair(
		own_write_of(&state->writes, "DNSRecord", api_namespace(wanted), api_name(wanted)),
		hash, clock_mono_ns());
	pthread_mutex_unlock(&state->lock);
	return delay;
}

/* ---- writing ---- */

/* The name exists, but the store has no object of ours there: it may be a little behind. */
static int handle_taken(struct write *write, const struct kube_ref *ref)
{
	struct kube_status st = { 0 };
	json_t *found = NULL;
	int r = kube_get(write->ctx->conn, ref, &found, &st);
	if (r == 0 && !has_our_label(found)) {
		dnssource_add_mistake(write->problems, "NameTaken",
				      "a DNSRecord '%s' exists that another program or user made; "
				      "delete or rename it",
				      ref->name);
		write->ctx->again_ns = TAKEN_AGAIN_S * NS_PER_S;
	} else if (r == 0 && !is_of_source(found, write->source)) {
		/* Of a source of this name that was deleted: it goes, too. */
		write->ctx->again_ns = OLD_OWNER_AGAIN_S * NS_PER_S;
	} else if (r < 0 && r != ERR_NOTFOUND) {
		r = set_error(write->ctx, r, &st);
	} else if (r == ERR_NOTFOUND) {
		write->ctx->again_ns = NS_PER_S;
		r = 0;
	}
	kube_status_done(&st);
	json_decref(found);
	return r;
}

static int create_record(struct write *write, const struct kube_ref *ref, const json_t *wanted)
{
	struct kube_status st = { 0 };
	int r = kube_create(write->ctx->conn, ref, wanted, NULL, &st);
	if (r >= 0)
		dnssource_report_done(write->ctx, write->source, "DNSRecordCreated", wanted);
	else if (r != ERR_DUPLICATE)
		r = set_error(write->ctx, r, &st);
	kube_status_done(&st);
	return r == ERR_DUPLICATE ? handle_taken(write, ref) : MIN(r, 0);
}

static int edit_record(struct write *write, struct kube_ref *ref, const json_t *record,
		       const json_t *wanted)
{
	struct kube_status st = { 0 };
	uint64_t delay = delay_of(write, wanted);
	if (delay != 0) {
		write->ctx->again_ns = delay;
		return 0;
	}
	ref->uid = api_uid(record);
	int r = kube_edit(write->ctx->conn, ref, NULL, set_members, (void *)(uintptr_t)wanted, &st);
	if (r == ERR_NOTFOUND || r == ERR_GONE)
		r = 0; /* its deletion brings the key again */
	if (r < 0)
		r = set_error(write->ctx, r, &st);
	kube_status_done(&st);
	return MIN(r, 0);
}

static int delete_record(struct write *write, const json_t *record)
{
	struct dnssource_state *state = write->ctx->state;
	struct kube_ref ref = ref_of(record);
	struct kube_status st = { 0 };
	struct kube_delete_opts opts = { .uid = api_uid(record) };
	int r = kube_delete(write->ctx->conn, &ref, &opts, &st);
	if (r >= 0)
		dnssource_report_done(write->ctx, write->source, "DNSRecordDeleted", record);
	else if (r != ERR_NOTFOUND && r != ERR_CONFLICT)
		r = set_error(write->ctx, r, &st);
	kube_status_done(&st);
	pthread_mutex_lock(&state->lock);
	own_write_forget(&state->writes, "DNSRecord", ref.ns, ref.name);
	pthread_mutex_unlock(&state->lock);
	return r == ERR_NOTFOUND || r == ERR_CONFLICT ? 0 : MIN(r, 0);
}

static int write_wanted(struct write *write, const json_t *wanted)
{
	struct kube_ref ref = ref_of(wanted);
	const json_t *record = find_record(write, ref.name);
	if (record == NULL)
		return create_record(write, &ref, wanted);
	if (api_is_deleting(record) || is_as_wanted(record, wanted))
		return 0; /* when it is gone, its key comes again */
	return edit_record(write, &ref, record, wanted);
}

static int delete_unwanted(struct write *write, const json_t *wanted)
{
	int r = 0;
	for (size_t i = 0; i < write->records.n && r >= 0; i++) {
		const json_t *record = kube_tree_of(write->records.v[i]);
		if (!api_is_deleting(record) && find_wanted(wanted, api_name(record)) == NULL)
			r = delete_record(write, record);
	}
	return r;
}

static void write_done(struct write *write)
{
	for (size_t i = 0; i < write->records.n; i++)
		kube_obj_unref(write->records.v[i]);
	vec_done(&write->records);
}

int dnssource_write_records(struct controller_ctx *ctx, const char *key, const json_t *source,
			    const json_t *wanted, struct dnssource_problems *problems)
{
	CLEANUP(write_done)
	struct write write = { .ctx = ctx, .source = source, .problems = problems };
	bool keeps_records = problems->keeps_records;
	json_t *object;
	int r = 0;
	size_t i;
	controller_each_by(ctx, DNSSOURCE_RECORDS, DNSSOURCE_BY_OWNER, slice_of(key),
			   collect_record, &write);
	/* An address set may not stand beside an alias: the old one goes first. */
	if (!keeps_records)
		r = delete_unwanted(&write, wanted);
	for (i = 0; i < json_array_size(wanted) && r >= 0; i++) {
		object = json_array_get(wanted, i);
		r = write_wanted(&write, object);
	}
	return r;
}
