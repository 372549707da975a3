/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The objects that a list or watch selects: its label and field selectors. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "api/selector.h"
#include "apiserver/codec/status.h"
#include "apiserver/kind/resource.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "base/slice.h"

struct apiserver_selection {
	struct arena arena;
	struct api_selector label, field;
	bool all;	  /* every object matches */
	const char *name; /* the only name that can match, or NULL */
	bool by_name;	  /* every object of that name matches */
};

/* Refuses selectors that cannot be parsed, whatever the resource: a request's other options are checked only
 * afterwards. */
MUST_CHECK int apiserver_selection_check_syntax(const char *label, const char *field,
						struct apiserver_status *status);
/* Free with apiserver_selection_done, also after a refusal. */
MUST_CHECK int apiserver_selection_parse(const struct apiserver_resource *resource,
					 const char *label, const char *field,
					 struct apiserver_selection *ret,
					 struct apiserver_status *status);
void apiserver_selection_done(struct apiserver_selection *selection);
bool apiserver_selection_match(const struct apiserver_selection *selection, const json_t *object);
/* The same from the object's text in the store, for a selection without field selectors: it reads only
 * the labels. */
bool apiserver_selection_match_text(const struct apiserver_selection *selection, struct slice text);
/* Appends the common prefix of the keys of all objects that can match. */
void apiserver_selection_prefix(const struct apiserver_selection *selection,
				const struct apiserver_resource *resource, const char *ns,
				struct strbuf *out);
