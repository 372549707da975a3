/* Conflicts as the server tells them. */
#include <stdlib.h>
#include <string.h>

#include "api/managed_priv.h"
#include "base/mem.h"

void api_conflicts_done(struct api_conflicts *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->v[i].manager);
		free(c->v[i].field);
	}
	vec_done(c);
}

struct telling {
	struct api_conflicts *c;
	const char *manager;
};

static void tell(void *ctx, struct fieldset_el *const *path, size_t n)
{
	struct telling *t = ctx;
	CLEANUP(strbuf_done) struct strbuf field = STRBUF_INIT;
	fieldset_path_text(&field, path, n);
	vec_push(t->c, (struct api_conflict){ .manager = xstrdup(t->manager),
					      .field = strbuf_take(&field) });
}

void managed_conflicts_add(struct api_conflicts *c, const struct managed_entry *e,
			   struct fieldset *set)
{
	CLEANUP(strbuf_done) struct strbuf who = STRBUF_INIT;
	strbuf_add_quoted(&who, slice_of(e->manager));
	if (e->subresource[0] != '\0') {
		strbuf_adds(&who, " with subresource ");
		strbuf_add_quoted(&who, slice_of(e->subresource));
	}
	if (!e->applied)
		strbuf_addf(&who, " using %s", e->api_version);
	struct telling t = { c, who.s };
	fieldset_each(set, tell, &t);
}

void api_conflicts_text(const struct api_conflicts *c, struct strbuf *out)
{
	if (c->n == 1) {
		strbuf_addf(out, "Apply failed with 1 conflict: conflict with %s: %s",
			    c->v[0].manager, c->v[0].field);
		return;
	}
	strbuf_addf(out, "Apply failed with %zu conflicts: ", c->n);
	for (size_t i = 0; i < c->n; i++) {
		if (i == 0 || strcmp(c->v[i].manager, c->v[i - 1].manager) != 0)
			strbuf_addf(out, "%sconflicts with %s:", i > 0 ? "\n" : "",
				    c->v[i].manager);
		strbuf_addf(out, "\n- %s", c->v[i].field);
	}
}

json_t *api_conflicts_causes(const struct api_conflicts *c)
{
	json_t *out = json_array();
	for (size_t i = 0; i < c->n; i++)
		json_array_append_new(
			out, json_pack("{ss,ss+,ss}", "reason", "FieldManagerConflict", "message",
				       "conflict with ", c->v[i].manager, "field", c->v[i].field));
	return out;
}
