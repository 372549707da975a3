/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Typed views: a table of rows fills a C struct from an object's tree.
 *
 *	static const struct api_view_row rows[] = {
 *		{ "spec.name", API_VIEW_STRING, offsetof(struct record, name), .required = true },
 *		{ "spec.ttl", API_VIEW_INT, offsetof(struct record, ttl_s), .max = 3600, .def = 120 },
 *	};
 *
 * Strings and subtrees are borrowed from the tree, lists come from the arena. What is missing, or
 * null, gets its default: "", 0, false, an empty list, or the row's `def`. Objects that were validated
 * by a schema have no errors here; errors of others have their field paths. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "api/fielderr.h"
#include "base/arena.h"
#include "base/compiler.h"

struct api_view;

/* A list of texts. */
struct api_strings {
	const char **v;
	size_t n;
};

/* A list of structs of the row's sub-view. */
struct api_structs {
	void *v;
	size_t n;
};

enum api_view_type {
	API_VIEW_STRING,   /* const char * */
	API_VIEW_INT,	   /* int64_t, min..max */
	API_VIEW_BOOL,	   /* bool */
	API_VIEW_DURATION, /* int64_t in ns, of a text as "1m30s"; min..max */
	API_VIEW_WORD,	   /* int: which of the row's `words` the text is */
	API_VIEW_STRINGS,  /* struct api_strings; min..max is their number */
	API_VIEW_STRUCTS,  /* struct api_structs, by `sub`; min..max is their number */
	API_VIEW_TREE,	   /* const json_t *; NULL when it is missing */
};

struct api_view_row {
	const char *path; /* members from the struct's own object on: "spec.secretRef.name" */
	enum api_view_type type;
	size_t offset;
	bool required;		  /* not there is an error; so is an empty text */
	int64_t min, max;	  /* max 0: any number that is not below min */
	int64_t def;		  /* INT, DURATION, WORD, BOOL: the value when it is missing */
	const char *const *words; /* NULL-terminated */
	const struct api_view *sub;
};

struct api_view {
	const struct api_view_row *rows;
	size_t n_rows;
	size_t size; /* of the struct */
};

/* Fills `ret` (size bytes), zeroed first. ERR_CONFIG when something was wrong: `errs` got it, and
 * the field has its default. The struct lives as long as the tree and the (growing) arena. */
MUST_CHECK int api_view_fill(const struct api_view *view, const json_t *object, struct arena *arena,
			     void *ret, struct api_errors *errs);
