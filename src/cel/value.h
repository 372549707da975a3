/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values that expressions work on: parts of a JSON document, which are borrowed and read when they
 * are needed, or results of the expression, which lie in the run's arena. An error is a value, too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "cel/type.h"

struct cel_run;
struct cel_value;

enum cel_value_type {
	CEL_NULL,
	CEL_BOOL,
	CEL_INT,
	CEL_DOUBLE,
	CEL_STRING,
	CEL_LIST,
	CEL_MAP,      /* also objects */
	CEL_OPTIONAL, /* of oldSelf */
	CEL_ERROR,
};

/* Either a part of the document (`json`, described by `declared`, which may be NULL) or made by the
 * expression (`values`; of maps, keys and values by turns). */
struct cel_items {
	const json_t *json;
	const struct cel_type *declared;
	struct cel_value *values;
	size_t count; /* of items, or of pairs */
};

struct cel_value {
	enum cel_value_type type;
	union {
		bool boolean;
		int64_t integer;
		double number;
		struct slice text;
		struct cel_items items;
		const struct cel_value *inner; /* CEL_OPTIONAL; NULL: none */
		const char *error;
	} u;
};

/* Borrows `value` and `declared`; the latter may be NULL. */
struct cel_value cel_of_json(const json_t *value, const struct cel_type *declared);
struct cel_value cel_error(const char *text);
struct cel_value cel_errorf(struct cel_run *run, const char *fmt, ...) PRINTF_LIKE(2, 3);
struct cel_value cel_bool(bool value);
struct cel_value cel_int(int64_t number);
struct cel_value cel_no_overload(void);
/* Items of a list, or pairs of a map. */
size_t cel_items_n(const struct cel_value *value);
struct cel_value cel_item(const struct cel_value *list, size_t index);
/* The keys of a map, as a list. */
struct cel_value cel_keys(struct cel_run *run, const struct cel_value *map);
/* The member of a map; false when it has none of that name. */
bool cel_member(const struct cel_value *value, const struct cel_value *key, struct cel_value *ret);
bool cel_equal(struct cel_run *run, const struct cel_value *left, const struct cel_value *right);
/* Less, equal, greater: -1, 0, 1; 2 when they have no order. */
int cel_compare(const struct cel_value *left, const struct cel_value *right);
