/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adds our finalizer to Secrets and removes it, by requests that transfer their metadata only. */
#include "controller/dnsrecord/secret_hold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kind.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "controller/dnsrecord/plan/names.h"
#include "controller/dnsrecord/watches.h"
#include "kube/client/client.h"
#include "kube/decode/packed.h"

enum { TRIES = 5 };
#define BUSY_NS	      (100 * NS_PER_MS) /* while the finalizer is being removed */
#define METADATA_ONLY "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

static const char *namespace_of_secret(const struct dnsrecord_pass *pass)
{
	const char *named = pass->record.spec.secret_namespace;
	return named[0] != '\0' ? named : api_namespace(pass->object);
}

static struct dnsrecord_use use_of(const struct dnsrecord_pass *pass)
{
	return (struct dnsrecord_use){ .key = pass->key,
				       .uid = api_uid(pass->object),
				       .ns = api_namespace(pass->object),
				       .secret_ns = namespace_of_secret(pass),
				       .secret_name = pass->record.spec.secret_name };
}

const char *dnsrecord_secret_to_hold(const struct dnsrecord_pass *pass)
{
	bool is_own = strcmp(namespace_of_secret(pass), api_namespace(pass->object)) == 0;
	return is_own && dnsrecord_needs_secret(pass->object) ? pass->record.spec.secret_name : "";
}

/* ---- the finalizer ---- */

struct change {
	const char *ns, *name;
	bool adds;
};

/* The list as it should be; NULL: it is so already, or cannot be changed any more. */
static json_t *change_list(const json_t *secret, bool adds)
{
	json_t *list = json_array(), *value;
	bool has_ours = api_has_finalizer(secret, DNSRECORD_SECRET_FINALIZER);
	size_t i;
	json_array_foreach (api_tree(api_get(secret, "metadata.finalizers")), i, value) {
		if (strcmp(api_text(value), DNSRECORD_SECRET_FINALIZER) != 0)
			json_array_append_new(list, json_string(api_text(value)));
	}
	if (adds)
		json_array_append_new(list, json_string(DNSRECORD_SECRET_FINALIZER));
	/* An object that is being deleted accepts no new finalizers. */
	if (adds == has_ours || (adds && api_is_deleting(secret))) {
		json_decref(list);
		return NULL;
	}
	return list;
}

/* Reads the metadata, and writes it. 0, also if there is nothing to do. */
static int change_once(struct kube_conn *conn, const struct change *change,
		       struct kube_status *status)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	json_t *secret = NULL, *list = NULL, *patch = NULL;
	api_kind_path(&path, api_kind_find("", "Secret"), change->ns, change->name, NULL);
	int r = kube_call(
		conn,
		&(struct kube_request){ .method = "GET", .path = path.s, .accept = METADATA_ONLY },
		&secret, status);
	if (r == 0)
		list = change_list(secret, change->adds);
	if (list != NULL) {
		patch = json_pack("{s:{s:s, s:s, s:o}}", "metadata", "uid", api_uid(secret),
				  "resourceVersion", api_resource_version(secret), "finalizers",
				  list);
		kube_status_done(status);
		r = kube_call(
			conn,
			&(struct kube_request){ .method = "PATCH",
						.path = path.s,
						.body = patch,
						.content_type = "application/merge-patch+json",
						.accept = METADATA_ONLY },
			NULL, status);
	}
	json_decref(patch);
	json_decref(secret);
	return r;
}

static void log_refusal(struct controller_ctx *ctx, const struct change *change, const char *why)
{
	struct dnsrecord_state *state = ctx->state;
	if (!change->adds)
		log_warn(DNSRECORD_LOG_AREA,
			 "Secret %s/%s keeps the finalizer " DNSRECORD_SECRET_FINALIZER
			 ", remove it by hand: %s",
			 change->ns, change->name, why);
	else if (!atomic_exchange(&state->is_hold_refused, true))
		log_warn(DNSRECORD_LOG_AREA,
			 "Secret %s/%s cannot get the finalizer " DNSRECORD_SECRET_FINALIZER
			 ": if it is deleted before its DNSRecords while this controller is down, "
			 "their record sets stay at the provider; further Secrets are not logged: "
			 "%s",
			 change->ns, change->name, why);
}

/* 0 also if the Secret is missing, or if we may not change it. */
static int change_finalizer(struct controller_ctx *ctx, const struct change *change)
{
	struct kube_status status = { 0 };
	int r = ERR_CONFLICT;
	for (int i = 0; r == ERR_CONFLICT && i < TRIES; i++) {
		kube_status_done(&status);
		status = (struct kube_status){ 0 };
		r = change_once(ctx->conn, change, &status);
	}
	const char *why = status.message[0] != '\0' ? status.message : err_str(r);
	if (r == ERR_DENIED || r == ERR_CONFIG) {
		log_refusal(ctx, change, why);
		r = 0;
	} else if (r == ERR_NOTFOUND) {
		r = 0;
	} else if (r < 0) {
		err_text_set(ERR_TEXT(ctx->err), "the finalizers of Secret '%s': %s", change->name,
			     why);
		r = r == ERR_CONFLICT ? ERR_BUSY : r; /* a conflict of the object is none */
	}
	kube_status_done(&status);
	return r;
}

int dnsrecord_secret_hold(struct dnsrecord_pass *pass,
			  const struct dnsrecord_credentials *credentials)
{
	const char *name = dnsrecord_secret_to_hold(pass);
	if (name[0] == '\0' || credentials->is_held || credentials->is_deleting)
		return 0;
	return change_finalizer(pass->ctx,
				&(struct change){ api_namespace(pass->object), name, true });
}

/* ---- release ---- */

struct search {
	struct dnsrecord_kept *kept;
	const struct dnsrecord_use *use; /* that ends */
	bool is_found;
};

/* Another object whose record set may be at a provider, by us: Gardener's extensions have the same finalizer, and
 * objects without credentials have it, too. What uses the Secret has a status that names it. */
static bool find_user(void *ctx, struct kube_obj *object)
{
	struct search *search = ctx;
	char key[DNSRECORD_KEY_MAX];
	json_t *tree = kube_packed_unpack(object);
	struct dnsrecord_use other = *search->use;
	snprintf(key, sizeof(key), "%s/%s", object->ns, object->name);
	other.key = key;
	other.uid = api_uid(tree);
	search->is_found = strcmp(other.uid, search->use->uid) != 0 &&
			   api_has_finalizer(tree, DNSRECORD_FINALIZER) &&
			   strcmp(api_get_string(tree, "status.state.secret"),
				  search->use->secret_name) == 0 &&
			   !dnsrecord_kept_has_left(search->kept, &other);
	json_decref(tree);
	return !search->is_found;
}

static int release_secret(struct controller_ctx *ctx, const struct dnsrecord_use *use)
{
	struct search search = { dnsrecord_kept_of(ctx), use, false };
	char key[DNSRECORD_KEY_MAX];
	int r = 0;
	enum dnsrecord_release release = dnsrecord_kept_begin_release(search.kept, use);
	if (release == DNSRECORD_RELEASE_BUSY) {
		err_text_set(ERR_TEXT(ctx->err),
			     "another DNSRecord is about to remove the finalizer of Secret '%s'",
			     use->secret_name);
		return ERR_BUSY;
	}
	if (release == DNSRECORD_RELEASE_LEFT)
		return 0;
	snprintf(key, sizeof(key), "%s/%s", use->secret_ns, use->secret_name);
	controller_each_by(ctx, DNSRECORD_RECORDS, DNSRECORD_BY_SECRET, slice_of(key), find_user,
			   &search);
	if (!search.is_found)
		r = change_finalizer(ctx,
				     &(struct change){ use->secret_ns, use->secret_name, false });
	dnsrecord_kept_end_release(search.kept, use);
	if (r < 0) /* it is tried again */
		(void)dnsrecord_kept_begin(search.kept, use);
	return r;
}

/* Of the Secret that the status names. */
static struct dnsrecord_use held_use_of(const struct dnsrecord_pass *pass)
{
	struct dnsrecord_use use = use_of(pass);
	use.secret_ns = use.ns;
	use.secret_name = pass->record.held_secret;
	return use;
}

int dnsrecord_secret_release(struct dnsrecord_pass *pass)
{
	struct dnsrecord_use use = held_use_of(pass);
	return use.secret_name[0] != '\0' ? release_secret(pass->ctx, &use) : 0;
}

int dnsrecord_secret_leave(struct dnsrecord_pass *pass)
{
	/* A use that is released stays, as one that has ended. */
	if (strcmp(pass->record.held_secret, pass->record.spec.secret_name) != 0)
		dnsrecord_secret_drop(pass->ctx, pass->key);
	int r = dnsrecord_secret_release(pass);
	return r < 0 ? r : dnsrecord_pass_note_secret(pass, "");
}

void dnsrecord_secret_follow(struct dnsrecord_pass *pass)
{
	struct dnsrecord_use use = held_use_of(pass);
	if (use.secret_name[0] != '\0' && !dnsrecord_kept_begin(dnsrecord_kept_of(pass->ctx), &use))
		pass->ctx->again_ns = BUSY_NS;
}

int dnsrecord_secret_release_gone(struct controller_ctx *ctx, const char *key)
{
	CLEANUP(freep) char *uid = NULL;
	CLEANUP(freep) char *ns = dnsrecord_kept_secret_of(dnsrecord_kept_of(ctx), key, &uid);
	int r = 0;
	if (ns != NULL) {
		char *name = strchr(ns, '/');
		*name++ = '\0';
		size_t n = strlen(ns);
		struct dnsrecord_use use = { key, uid, ns, ns, name };
		if (strncmp(key, ns, n) == 0 && key[n] == '/')
			r = release_secret(ctx, &use);
	}
	if (r == 0)
		dnsrecord_secret_drop(ctx, key);
	return r;
}

void dnsrecord_secret_drop(const struct controller_ctx *ctx, const char *key)
{
	dnsrecord_kept_drop(dnsrecord_kept_of(ctx), key);
}

/* ---- reading ---- */

int dnsrecord_secret_read(struct dnsrecord_pass *pass, struct dnsrecord_credentials *ret,
			  struct err_text err)
{
	struct dnsrecord_kept *kept = dnsrecord_kept_of(pass->ctx);
	struct dnsrecord_use use = use_of(pass);
	*ret = (struct dnsrecord_credentials){ 0 };
	if (!dnsrecord_needs_secret(pass->object))
		return 1;
	if (!dnsrecord_kept_begin(kept, &use)) {
		pass->ctx->again_ns = BUSY_NS;
		return 0;
	}
	int r = dnsrecord_credentials_read(pass->ctx->conn, pass->settings.any_namespace,
					   pass->object, ret, err);
	if (r == 0)
		dnsrecord_kept_store(kept, &use, ret);
	else if (r < 0 && ret->is_missing && api_is_deleting(pass->object) &&
		 dnsrecord_kept_recall(kept, &use, ret))
		r = 0;
	return r < 0 ? r : 1;
}

static int hold_read(struct dnsrecord_pass *pass)
{
	CLEANUP(dnsrecord_credentials_done) struct dnsrecord_credentials credentials = { 0 };
	char why[512];
	int r = dnsrecord_secret_read(pass, &credentials, ERR_TEXT(why));
	if (r == 0 || r == ERR_CONFIG)
		return 0; /* busy, or there is nothing to hold */
	if (r < 0) {
		err_text_set(ERR_TEXT(pass->ctx->err), "%s", why);
		return r;
	}
	r = dnsrecord_pass_note_secret(pass, dnsrecord_secret_to_hold(pass));
	return r < 0 ? r : dnsrecord_secret_hold(pass, &credentials);
}

int dnsrecord_secret_hold_settled(struct dnsrecord_pass *pass)
{
	struct dnsrecord_use use = use_of(pass);
	const char *held = pass->record.held_secret, *wanted = dnsrecord_secret_to_hold(pass);
	/* Another Secret in the spec is not used yet. */
	bool is_other = held[0] != '\0' && strcmp(held, wanted) != 0;
	if (pass->settings.is_dry_run || pass->record.is_dry_run)
		return 0;
	if (!dnsrecord_needs_secret(pass->object) || is_other || api_is_deleting(pass->object) ||
	    !api_has_finalizer(pass->object, DNSRECORD_FINALIZER) ||
	    dnsrecord_kept_has(dnsrecord_kept_of(pass->ctx), &use))
		return 0;
	int r = hold_read(pass);
	if (r < 0)
		dnsrecord_secret_drop(pass->ctx, pass->key);
	return r;
}
