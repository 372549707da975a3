/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes of a pass: JSON merge patches that name what changes only, so that members of others stay
 * (DR-3). */
#include "controller/dnsrecord/pass.h"

#include <string.h>

#include "api/kind.h"
#include "api/meta.h"
#include "api/tree_copy.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/dnsrecord/plan/names.h"
#include "controller/dnsrecord/terminating.h"
#include "kube/client/client.h"
#include "kube/events/events.h"

enum { TRIES = 4 };

static struct kube_ref ref_of(const struct dnsrecord_pass *pass)
{
	return (struct kube_ref){ .kind = api_kind_find("extensions.gardener.cloud", "DNSRecord"),
				  .ns = api_namespace(pass->object),
				  .name = api_name(pass->object) };
}

void dnsrecord_pass_set_object(struct dnsrecord_pass *pass, json_t *object)
{
	json_t *before = pass->object;
	pass->object = object;
	arena_reset(&pass->arena);
	dnsrecord_read(object, &pass->arena, &pass->record);
	json_decref(before);
}

static int note_failure(struct dnsrecord_pass *pass, int code, const struct kube_status *status)
{
	if (code < 0 && code != ERR_NOTFOUND && code != ERR_CONFLICT)
		err_text_set(ERR_TEXT(pass->ctx->err), "%s",
			     status->message[0] != '\0' ? status->message : err_str(code));
	return code;
}

/* Another writer was faster. 0: what this pass goes by is as it was; else ERR_CONFLICT. */
static int read_again(struct dnsrecord_pass *pass)
{
	struct kube_ref ref = ref_of(pass);
	struct kube_status status = { 0 };
	json_t *fresh = NULL;
	int r = kube_get(pass->ctx->conn, &ref, &fresh, &status);
	note_failure(pass, r, &status);
	kube_status_done(&status);
	if (r < 0)
		return r;
	const char *asked = api_annotation(fresh, DNSRECORD_OPERATION);
	bool is_same = strcmp(api_uid(fresh), api_uid(pass->object)) == 0 &&
		       api_generation(fresh) == api_generation(pass->object) &&
		       api_is_deleting(fresh) == api_is_deleting(pass->object) &&
		       strcmp(asked != NULL ? asked : "", pass->record.request) == 0 &&
		       json_equal(json_object_get(fresh, "status"),
				  json_object_get(pass->object, "status"));
	if (!is_same) {
		json_decref(fresh);
		return ERR_CONFLICT;
	}
	dnsrecord_pass_set_object(pass, fresh);
	return 0;
}

/* Takes over the patch, which is locked. 1: written; ERR_CONFLICT: not, and read again. */
static int send_patch(struct dnsrecord_pass *pass, const char *sub, json_t *patch)
{
	struct kube_ref ref = ref_of(pass);
	struct kube_status status = { 0 };
	json_t *metadata = json_object_get(patch, "metadata"), *reply = NULL;
	uint64_t version = 0;
	if (metadata == NULL) {
		metadata = json_object();
		json_object_set_new(patch, "metadata", metadata);
	}
	json_object_set_new(metadata, "uid", json_string(api_uid(pass->object)));
	json_object_set_new(metadata, "resourceVersion",
			    json_string(api_resource_version(pass->object)));
	int r = kube_merge(pass->ctx->conn, &ref, sub, patch, &reply, &status);
	note_failure(pass, r, &status);
	kube_status_done(&status);
	json_decref(patch);
	if (r < 0)
		return r;
	if (slice_u64(slice_of(api_resource_version(reply)), &version) == 0)
		pass->memory.least_version = version;
	dnsrecord_remember(pass->ctx, pass->key, &pass->memory);
	json_object_del(json_object_get(reply, "metadata"), "managedFields");
	dnsrecord_pass_set_object(pass, reply);
	return 1;
}

/* ---- the status ---- */

/* Texts of the report point into the object that is replaced: the patch is made before. */
int dnsrecord_pass_report(struct dnsrecord_pass *pass, const struct dnsrecord_report *report)
{
	json_t *patch = dnsrecord_report_patch(&pass->record, report, clock_wall_ns());
	json_t *kept = api_tree_copy(patch);
	int r = patch != NULL ? send_patch(pass, "status", patch) : 0;
	for (int i = 1; r == ERR_CONFLICT && i < TRIES; i++) {
		r = read_again(pass);
		if (r == 0)
			r = send_patch(pass, "status", api_tree_copy(kept));
		else
			break;
	}
	json_decref(kept);
	return MIN(r, 0);
}

int dnsrecord_pass_resolvable(struct dnsrecord_pass *pass, enum dnsrecord_resolvable what,
			      const char *message)
{
	json_t *patch = dnsrecord_resolvable_patch(&pass->record, what, message, clock_wall_ns());
	return patch != NULL ? send_patch(pass, "status", patch) : 0;
}

int dnsrecord_pass_provider_status(struct dnsrecord_pass *pass, const char *member, json_t *value)
{
	const json_t *now = api_get(pass->object, "status.providerStatus");
	if (json_equal(json_object_get(now, member), value)) {
		json_decref(value);
		return 0;
	}
	/* A merge patch: what the value does not have is removed by name. */
	const char *name;
	json_t *old;
	json_object_foreach (json_object_get(now, member), name, old) {
		if (json_object_get(value, name) == NULL)
			json_object_set_new(value, name, json_null());
	}
	json_t *patch = json_pack("{s:{s:{s:o}}}", "status", "providerStatus", member, value);
	return MIN(send_patch(pass, "status", patch), 0);
}

int dnsrecord_pass_note_secret(struct dnsrecord_pass *pass, const char *name)
{
	if (strcmp(pass->record.held_secret, name) == 0)
		return 0;
	json_t *value = name[0] != '\0' ? json_string(name) : json_null();
	json_t *patch = json_pack("{s:{s:{s:o}}}", "status", "state", "secret", value);
	return MIN(send_patch(pass, "status", patch), 0);
}

int dnsrecord_pass_show_published(struct dnsrecord_pass *pass)
{
	if (api_get(pass->object, "status.state.published") != NULL)
		return 0;
	json_t *patch = json_pack("{s:{s:{s:o}}}", "status", "state", "published",
				  dnsrecord_published(pass->object));
	return MIN(send_patch(pass, "status", patch), 0);
}

/* ---- finalizers and the annotation ---- */

static json_t *list_finalizers(const json_t *object, const struct dnsrecord_marks *marks)
{
	const json_t *before = api_get(object, "metadata.finalizers");
	bool has_ours = api_has_finalizer(object, DNSRECORD_FINALIZER);
	json_t *list = json_array(), *value;
	size_t i;
	json_array_foreach (api_tree(before), i, value) {
		bool is_ours = strcmp(api_text(value), DNSRECORD_FINALIZER) == 0;
		if (!marks->remove_all_finalizers && !(is_ours && marks->remove_finalizer))
			json_array_append_new(list, json_string(api_text(value)));
	}
	if (marks->add_finalizer && !has_ours && !api_is_deleting(object))
		json_array_append_new(list, json_string(DNSRECORD_FINALIZER));
	if (json_array_size(list) == json_array_size(before)) {
		json_decref(list);
		return NULL;
	}
	return list;
}

/* NULL: all is so already. */
static json_t *make_mark_patch(const json_t *object, const struct dnsrecord_marks *marks)
{
	json_t *metadata = json_object(), *list = list_finalizers(object, marks);
	if (list != NULL)
		json_object_set_new(metadata, "finalizers", list);
	const char *request = api_annotation(object, DNSRECORD_OPERATION);
	if (marks->clear != NULL && request != NULL && strcmp(marks->clear, request) == 0)
		json_object_set_new(metadata, "annotations",
				    json_pack("{s:n}", DNSRECORD_OPERATION));
	if (json_object_size(metadata) == 0) {
		json_decref(metadata);
		return NULL;
	}
	return json_pack("{s:o}", "metadata", metadata);
}

int dnsrecord_pass_mark(struct dnsrecord_pass *pass, const struct dnsrecord_marks *marks)
{
	int r = ERR_CONFLICT;
	for (int i = 0; r == ERR_CONFLICT && i < TRIES; i++) {
		json_t *patch;
		if (i != 0 && (r = read_again(pass)) < 0)
			break;
		patch = make_mark_patch(pass->object, marks);
		r = patch != NULL ? send_patch(pass, NULL, patch) : 0;
	}
	return MIN(r, 0);
}

/* ---- Events ---- */

static void emit_event(const struct dnsrecord_pass *pass, const struct event *event,
		       const char *text)
{
	struct event whole = *event;
	whole.action = pass->choice.operation[0] != '\0' ? pass->choice.operation : "Reconcile";
	if (pass->ctx->events != NULL)
		events_emit(pass->ctx->events, &whole, "%s", text);
}

void dnsrecord_pass_event(const struct dnsrecord_pass *pass, bool is_warning, const char *reason,
			  const char *text)
{
	emit_event(pass,
		   &(struct event){
			   .regarding = pass->object, .warning = is_warning, .reason = reason },
		   text);
}

void dnsrecord_pass_event_of_deletion(const struct dnsrecord_pass *pass, const char *reason,
				      const char *text)
{
	json_t *namespace =
		dnsrecord_terminating_namespace(pass->ctx->conn, api_namespace(pass->object));
	if (namespace == NULL) {
		dnsrecord_pass_event(pass, true, reason, text);
		return;
	}
	CLEANUP(freep) char *whole = xasprintf("DNSRecord '%s': %s", pass->key, text);
	emit_event(pass,
		   &(struct event){ .regarding = namespace, .warning = true, .reason = reason },
		   whole);
	log_warn(DNSRECORD_LOG_AREA, "%s", whole);
	json_decref(namespace);
}
