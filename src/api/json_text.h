/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON texts of objects to and from trees, at a fraction of jansson's cost for what objects are made
 * of: plain ASCII strings, short integers, little nesting. Everything else is left to jansson, so the
 * results are always jansson's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/slice.h"
#include "base/strbuf.h"

/* As json_loadb with these flags (0 or JSON_DECODE_ANY): a new reference, or NULL and *err, which may
 * be NULL. */
json_t *api_json_load(struct slice text, size_t flags, json_error_t *err);
/* An object or array whose text is of the plain sort above, without duplicate keys: a new reference. NULL: it is
 * not, or it is no JSON. */
json_t *api_json_load_plain(struct slice text);
/* The same, of an API object only apiVersion, kind and metadata, without managedFields; the text of the
 * other members is not checked. */
json_t *api_json_load_identity(struct slice text);
/* Finds the value of a member of a member, such as "metadata" and "uid", in the text of an API object
 * without reading the others: *ret lies in the text. Only for compact texts, as api_json_add writes
 * them. False: the object has no such member. The names have no characters that are escaped. */
bool api_json_member(struct slice object, const char *outer, const char *name, struct slice *ret);
/* Appends `"key":"value"`, behind a comma unless it is the first member of the object that is being
 * written. The key has no characters that are escaped. */
void api_json_add_member(struct strbuf *out, const char *key, const char *value);
/* Appends the compact text of any value, as json_dumps does with JSON_COMPACT and JSON_ENCODE_ANY;
 * "null" for NULL. False: there is text that is not UTF-8, with "null" in its place. */
bool api_json_add(struct strbuf *out, const json_t *value);
