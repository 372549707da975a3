/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Objects as JSON trees and as stored texts. A text begins with kind and apiVersion and then the
 * metadata, resourceVersion first: the store writes the revision there, and a list leaves out kind
 * and apiVersion of its items:
 *
 *	{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"7","name":... */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "apiserver/kind/resource.h"
#include "apiserver/store/store.h"
#include "base/compiler.h"
#include "base/strbuf.h"

/* A text to be stored: the store puts the revision between its head and its tail. */
struct apiserver_object_text {
	struct strbuf buf;
	size_t head_n;
	size_t managed_at,
		managed_n; /* the member metadata.managedFields with its comma; 0: none */
};
/* Encodes `object` with kind and apiVersion of `stored`; a resourceVersion in it is left out.
 * Initialises `text`, free it with apiserver_object_text_done; head and tail point into it. */
void apiserver_object_text_make(struct apiserver_object_text *text,
				const struct apiserver_resource *stored, const json_t *object);
void apiserver_object_text_done(struct apiserver_object_text *text);
struct slice apiserver_object_text_head(const struct apiserver_object_text *text);
struct slice apiserver_object_text_tail(const struct apiserver_object_text *text);
/* The member metadata.managedFields in the tail, with the comma before it; empty: there is none. */
struct slice apiserver_object_text_managed(const struct apiserver_object_text *text);

/* The same member of any stored text; what is left without it is JSON, too. */
struct slice apiserver_object_find_managed(struct slice text);
/* Appends the text without a part of it, which lies in it or is empty. */
void apiserver_object_add_without(struct strbuf *out, struct slice text, struct slice part);

/* The text after `{`, without kind and apiVersion if the resource's lists leave them out. */
struct slice apiserver_object_text_inner(const struct apiserver_resource *resource,
					 struct slice text);

/* A new tree in the resource's version; NULL when the text is damaged. */
json_t *apiserver_object_parse(const struct apiserver_resource *resource, struct slice text);
/* The object in the stored version: a new reference, read-only. */
json_t *apiserver_object_to_stored(const struct apiserver_resource *resource, const json_t *object);
/* Removes the fields of a custom resource that its stored version does not have, and sets that version's
 * defaults: what a client reads after the write. */
void apiserver_object_cut_to_stored(const struct apiserver_resource *resource, json_t *object);
/* Whether the resource's version is the stored one, so that stored texts can be sent as they
 * are. */
bool apiserver_object_is_stored_form(const struct apiserver_resource *resource);

/* Appends the apiVersion of a resource: "v1", "k8s.ovn.org/v1". */
void apiserver_object_add_version(struct strbuf *out, const struct apiserver_resource *resource);
void apiserver_object_set_revision(json_t *object, uint64_t revision);
json_t *apiserver_object_meta(json_t *object); /* borrowed; created when missing */

/* Reads apiVersion, kind and metadata of an object, as they are stored and without managedFields, which is
 * cheaper; a rare one is read whole. Errors as below. */
MUST_CHECK int apiserver_object_read_identity(struct apiserver_store *store,
					      const struct apiserver_resource *resource,
					      const char *ns, const char *name, json_t **ret);
/* What other objects ask about one: whether it exists, which one it is, whether it is being deleted. */
enum { APISERVER_UID_TEXT_MAX = 64 };
struct apiserver_object_state {
	bool deleting;
	char uid[APISERVER_UID_TEXT_MAX];
};
/* Reads the state of an object without making a tree of it. Errors as below. */
MUST_CHECK int apiserver_object_read_state(struct apiserver_store *store,
					   const struct apiserver_resource *resource,
					   const char *ns, const char *name,
					   struct apiserver_object_state *ret);
/* Reads an object, as a new tree in the resource's version. ERR_NOTFOUND, or the store's error. */
MUST_CHECK int apiserver_object_read(struct apiserver_store *store,
				     const struct apiserver_resource *resource, const char *ns,
				     const char *name, json_t **ret, uint64_t *ret_revision);
