/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conflicts of apply, in the API server's words. */
#include "api/apply/conflict.h"

#include <stdlib.h>
#include <string.h>

#include "api/apply/conflict_priv.h"
#include "api/apply/entry_priv.h"
#include "base/mem.h"
#include "base/vec.h"

void api_conflicts_done(struct api_conflicts *conflicts)
{
	for (size_t i = 0; i < conflicts->n; i++) {
		free(conflicts->v[i].manager);
		free(conflicts->v[i].field);
	}
	vec_done(conflicts);
}

struct conflict_reporter {
	struct api_conflicts *c;
	const char *manager;
};

static void add_conflict(void *ctx, struct fieldset_el *const *path, size_t count)
{
	struct conflict_reporter *t = ctx;
	CLEANUP(strbuf_done) struct strbuf field = STRBUF_INIT;
	fieldset_path_text(&field, path, count);
	vec_push(t->c, (struct api_conflict){ .manager = xstrdup(t->manager),
					      .field = strbuf_take(&field) });
}

void managed_conflicts_add(struct api_conflicts *conflicts, const struct managed_entry *entry,
			   struct fieldset *set)
{
	CLEANUP(strbuf_done) struct strbuf who = STRBUF_INIT;
	strbuf_add_quoted(&who, slice_of(entry->manager));
	if (entry->subresource[0] != '\0') {
		strbuf_adds(&who, " with subresource ");
		strbuf_add_quoted(&who, slice_of(entry->subresource));
	}
	if (!entry->applied)
		strbuf_addf(&who, " using %s", entry->api_version);
	struct conflict_reporter t = { conflicts, who.s };
	fieldset_each(set, add_conflict, &t);
}

void api_conflicts_text(const struct api_conflicts *conflicts, struct strbuf *out)
{
	if (conflicts->n == 1) {
		strbuf_addf(out, "Apply failed with 1 conflict: conflict with %s: %s",
			    conflicts->v[0].manager, conflicts->v[0].field);
		return;
	}
	strbuf_addf(out, "Apply failed with %zu conflicts: ", conflicts->n);
	for (size_t i = 0; i < conflicts->n; i++) {
		if (i == 0 || strcmp(conflicts->v[i].manager, conflicts->v[i - 1].manager) != 0)
			strbuf_addf(out, "%sconflicts with %s:", i > 0 ? "\n" : "",
				    conflicts->v[i].manager);
		strbuf_addf(out, "\n- %s", conflicts->v[i].field);
	}
}

json_t *api_conflicts_causes(const struct api_conflicts *conflicts)
{
	json_t *out = json_array();
	for (size_t i = 0; i < conflicts->n; i++)
		json_array_append_new(out, json_pack("{ss,ss+,ss}", "reason",
						     "FieldManagerConflict", "message",
						     "conflict with ", conflicts->v[i].manager,
						     "field", conflicts->v[i].field));
	return out;
}
