/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conditions by Kubernetes' conventions: one entry per type, lastTransitionTime moves only when the
 * status does. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/strbuf.h"

enum api_status { API_UNKNOWN, API_FALSE, API_TRUE };

struct api_condition {
	const char *type;
	enum api_status status;
	const char *reason; /* CamelCase, never empty */
	const char *message;
	int64_t generation;    /* observedGeneration; 0: left out (kinds that prune it) */
	bool has_updated_time; /* the kind has lastUpdateTime: when anything of it changed */
};

/* Adds or changes the condition in the array; true when something besides times differs from what
 * was there, so that callers write only then. */
bool api_condition_set(json_t *conditions, const struct api_condition *condition,
		       uint64_t now_wall_ns);
/* Appends the JSON of the entry that api_condition_set would add to an empty list, without the closing
 * brace: members of the caller's own may follow. */
void api_condition_write(struct strbuf *out, const struct api_condition *condition,
			 uint64_t now_wall_ns);
/* The entry, or NULL. */
json_t *api_condition_find(const json_t *conditions, const char *type);
enum api_status api_condition_status(const json_t *conditions, const char *type);
