/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conflicts of server-side apply: fields that others own. */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "base/strbuf.h"

struct api_conflict {
	char *manager; /* "kubectl-edit" using v1 at ... as the message shows it */
	char *field;   /* ".spec.replicas" */
};
struct api_conflicts {
	struct api_conflict *v;
	size_t n, cap;
};
void api_conflicts_done(struct api_conflicts *conflicts);
/* `Apply failed with 2 conflicts: conflicts with "a" using v1: ...`, as the server says it. */
void api_conflicts_text(const struct api_conflicts *conflicts, struct strbuf *out);
/* details.causes: a new array. */
json_t *api_conflicts_causes(const struct api_conflicts *conflicts);
