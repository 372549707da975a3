/* Objects between trees and the texts that are stored. A text begins with what the object is and
 * its metadata, resourceVersion first, so that the store can write the revision and a list can
 * leave out what it says once for all:
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

/* The two parts of a text that is to be written, in one buffer. */
struct apiserver_object_text {
	struct strbuf buf;
	size_t head_n;
};
void apiserver_object_text_make(struct apiserver_object_text *text,
				const struct apiserver_resource *stored, const json_t *object);
void apiserver_object_text_done(struct apiserver_object_text *text);
struct slice apiserver_object_text_head(const struct apiserver_object_text *text);
struct slice apiserver_object_text_tail(const struct apiserver_object_text *text);

/* An object's text behind its kind and apiVersion, where the row's lists leave them out; else all
 * of it. Then `{` goes before it. */
struct slice apiserver_object_text_inner(const struct apiserver_resource *resource,
					 struct slice text);

/* As the row's version has it; NULL when the text is damaged. */
json_t *apiserver_object_parse(const struct apiserver_resource *resource, struct slice text);
/* An object of the row's version in the stored one: a new reference, only to be read. */
json_t *apiserver_object_to_stored(const struct apiserver_resource *resource, const json_t *object);
/* Is the stored text what this row serves? */
bool apiserver_object_is_stored_form(const struct apiserver_resource *resource);

void apiserver_object_set_revision(json_t *object, uint64_t revision);
json_t *apiserver_object_meta(json_t *object); /* its metadata, made when it is not there */

/* The object in the row's version. ERR_NOTFOUND; others are the store's. */
MUST_CHECK int apiserver_object_read(struct apiserver_store *store,
				     const struct apiserver_resource *resource, const char *ns,
				     const char *name, json_t **ret, uint64_t *ret_revision);
