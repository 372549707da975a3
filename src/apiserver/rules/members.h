/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Members of JSON objects: defaults, and short forms of common reads. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

/* Sets the member if it is missing or null. Takes ownership of `value`. */
void apiserver_set_default(json_t *object, const char *key, json_t *value);
/* The member, created as an empty object if it is missing. Borrowed. */
json_t *apiserver_make_member(json_t *object, const char *key);
/* Replaces the member by that of the stored object: for fields that a write does not change. */
void apiserver_copy_old(json_t *object, const json_t *old, const char *key);
/* True if the member is a string that is not empty. */
bool apiserver_has_text(const json_t *object, const char *key);
/* The member's integer; 0 if it has none. */
long long apiserver_number(const json_t *object, const char *key);
/* True if the member is this string; a missing one equals "". */
bool apiserver_is(const json_t *object, const char *key, const char *word);
