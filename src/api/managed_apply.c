/* What an applier says becomes part of the object, and its own; what it says no more goes unless
 * somebody else owns it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/managed_priv.h"
#include "api/meta.h"
#include "base/err.h"
#include "base/mem.h"

static struct fieldset *named_fields(const struct managed_write *x, const json_t *o)
{
	struct fieldset *all = managed_fields(x->type, o);
	struct fieldset *out = managed_fields_named(x->type, all);
	fieldset_unref(all);
	return out;
}

/* Puts back into `pruned` what the entries of a version own of `merged`. */
static void add_back(const struct managed_write *x, const struct managed_entries *l,
		     const char *version, const json_t *merged, json_t **pruned)
{
	struct fieldset *keep = named_fields(x, *pruned), *gone = named_fields(x, merged);
	for (size_t i = 0; i < l->n; i++) {
		if (strcmp(l->v[i].api_version, version) != 0)
			continue;
		struct fieldset *owned = managed_fields_named(x->type, l->v[i].set);
		managed_set_change(&keep, fieldset_union, owned);
		fieldset_unref(owned);
	}
	managed_set_change(&gone, fieldset_difference, keep);
	json_decref(*pruned);
	*pruned = managed_remove(x->type, merged, gone);
	fieldset_unref(keep);
	fieldset_unref(gone);
}

static bool first_of_version(const struct managed_entries *l, size_t i)
{
	for (size_t j = 0; j < i; j++) {
		if (strcmp(l->v[j].api_version, l->v[i].api_version) == 0)
			return false;
	}
	return true;
}

/* Without what the applier said last time and says no more, unless somebody else owns it. Takes
 * `merged`. */
static json_t *prune(const struct managed_write *x, const struct managed_entries *l, json_t *merged,
		     struct fieldset *last)
{
	if (last == NULL || fieldset_empty(last))
		return merged;
	struct fieldset *said = managed_fields_named(x->type, last);
	json_t *pruned = managed_remove(x->type, merged, said);
	for (size_t i = 0; i < l->n; i++) {
		if (first_of_version(l, i))
			add_back(x, l, l->v[i].api_version, merged, &pruned);
	}
	/* Whatever else went with it comes back: only what it said itself may go. */
	struct fieldset *gone = named_fields(x, merged), *rest = named_fields(x, pruned);
	managed_set_change(&gone, fieldset_difference, rest);
	managed_set_change(&gone, fieldset_intersection, said);
	json_decref(pruned);
	pruned = managed_remove(x->type, merged, gone);
	fieldset_unref(gone);
	fieldset_unref(rest);
	fieldset_unref(said);
	json_decref(merged);
	return pruned;
}

/* The applier's entry becomes what it says; what it said before is handed out. */
static struct managed_entry *say(const struct managed_write *x, struct managed_entries *l,
				 const json_t *config, struct fieldset **ret_last)
{
	struct managed_entry *e = managed_write_self(x, l, x->w->manager, true);
	struct fieldset *set = managed_fields(x->type, config);
	if (x->reset != NULL)
		managed_set_change(&set, fieldset_without, x->reset);
	*ret_last = fieldset_ref(e->set);
	managed_entry_set(e, set);
	return e;
}

/* One try. `l` holds the entries afterwards; with conflicts it is of no use. NULL: nothing changes.
 */
static json_t *apply_entries(const struct managed_write *x, struct managed_entries *l,
			     const json_t *config, bool force, struct managed_taking *conflicts)
{
	struct managed_changes c;
	struct fieldset *last;
	managed_write_settle(x, l);
	CLEANUP(freep) char *self = xstrdup(say(x, l, config, &last)->id);
	json_t *to = prune(x, l, managed_merge(x->type, x->from, config), last);
	fieldset_unref(last);
	managed_changes_init(x, to, &c);
	managed_write_conflicts(x, l, self, &c, conflicts);
	if (force || conflicts->n == 0)
		managed_write_take(x, l, self, &c, conflicts);
	managed_changes_done(&c);
	if (managed_equal(x->from, to)) {
		json_decref(to);
		to = NULL;
	}
	struct managed_entry *e = managed_entries_find(l, self);
	if (e == NULL || (!force && conflicts->n > 0))
		return to;
	managed_entry_set(e, managed_set_strip(e->set));
	if (to != NULL)
		e->time_s = x->now_s;
	if (fieldset_empty(e->set))
		managed_entries_del(l, (size_t)(e - l->v));
	return to;
}

/* What kubectl set itself when it still applied on its side is no conflict. True: nothing is left
 * of the conflicts. */
static bool forgive(const struct managed_write *x, struct managed_taking *conflicts)
{
	if (strcmp(x->w->manager, "kubectl") != 0)
		return false;
	struct fieldset *allowed = managed_applied_fields(x->type, x->w->api_version, x->from);
	if (allowed == NULL)
		return false;
	bool none = true;
	for (size_t i = 0; i < conflicts->n; i++) {
		managed_set_change(&conflicts->v[i].set, fieldset_difference, allowed);
		none = none && fieldset_empty(conflicts->v[i].set);
	}
	fieldset_unref(allowed);
	return none;
}

static int by_id(const void *a, const void *b)
{
	return strcmp((*(const struct managed_entry *const *)a)->id,
		      (*(const struct managed_entry *const *)b)->id);
}

static void tell(const struct managed_entries *l, const struct managed_taking *t,
		 struct api_conflicts *ret)
{
	const struct managed_entry **who = xcalloc(t->n, sizeof(*who));
	for (size_t i = 0; i < t->n; i++)
		who[i] = &l->v[t->v[i].at];
	qsort(who, t->n, sizeof(*who), by_id);
	for (size_t i = 0; i < t->n; i++) {
		for (size_t j = 0; j < t->n; j++) {
			if (&l->v[t->v[j].at] == who[i])
				managed_conflicts_add(ret, who[i], t->v[j].set);
		}
	}
	free(who);
}

/* Applies to the entries and gives the object, without managedFields. */
static int apply_checked(struct managed_write *x, struct managed_entries *l, const json_t *config,
			 bool force, json_t **ret, struct api_conflicts *conflicts)
{
	struct managed_entries try;
	struct managed_taking t = { 0 };
	managed_entries_copy(&try, l);
	json_t *to = apply_entries(x, &try, config, force, &t);
	int r = 0;
	if (!force && t.n > 0 && forgive(x, &t)) {
		json_decref(to);
		managed_entries_done(&try);
		managed_taking_done(&t);
		managed_entries_copy(&try, l);
		to = apply_entries(x, &try, config, true, &t);
	} else if (!force && t.n > 0) {
		tell(&try, &t, conflicts);
		r = ERR_CONFLICT;
	}
	managed_taking_done(&t);
	managed_entries_done(l);
	*l = try;
	if (r == 0)
		*ret = to != NULL ? to : json_incref(x->from);
	else
		json_decref(to);
	return r;
}

/* An object that nobody applied before: all that is there was set by somebody. */
static void before_first(struct managed_write *x, struct managed_entries *l)
{
	json_t *live = x->from;
	if (x->create || l->n > 0)
		return;
	x->from = json_object();
	managed_write_update(x, l, live, "before-first-apply");
	json_decref(x->from);
	x->from = live;
}

/* "default/x; /v1, Kind=ConfigMap" */
static void object_text(struct strbuf *out, const json_t *o)
{
	const char *version = api_version(o), *slash = strchr(version, '/');
	size_t group = slash != NULL ? (size_t)(slash - version) : 0;
	strbuf_addf(out, "%s/%s; %.*s/%s, Kind=%s", api_namespace(o), api_name(o), (int)group,
		    version, slash != NULL ? slash + 1 : version, api_kind(o));
}

static int check_both(const struct managed_write *x, const json_t *config, char *err, size_t err_n)
{
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT, what = STRBUF_INIT;
	const struct {
		const char *name;
		const json_t *o;
		bool twice;
	} both[] = { { "patch", config, false }, { "live", x->from, true } };
	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		int r = managed_check(x->type, both[i].o, both[i].twice, &why);
		if (r == 0)
			continue;
		object_text(&what, both[i].o);
		if (r == ERR_LIMIT)
			snprintf(err, err_n, "%s", why.s);
		else
			snprintf(err, err_n, "failed to create typed %s object (%s): %s",
				 both[i].name, what.s, why.s);
		return r;
	}
	return 0;
}

static int apply(struct managed_write *x, const json_t *config, bool force, json_t **ret,
		 struct api_conflicts *conflicts, char *err, size_t err_n)
{
	struct managed_entries l;
	json_t *to = NULL;
	if (json_is_array(managed_write_fields(config))) {
		snprintf(err, err_n, "metadata.managedFields must be nil");
		return ERR_CONFIG;
	}
	int r = check_both(x, config, err, err_n);
	if (r < 0)
		return r;
	r = managed_entries_read(&l, managed_write_fields(x->w->live));
	if (r < 0) {
		snprintf(err, err_n, "failed to decode managed fields: %s", err_str(r));
		return r;
	}
	before_first(x, &l);
	r = apply_checked(x, &l, config, force, &to, conflicts);
	if (r == 0 && l.n > API_MANAGED_ENTRIES_MAX) {
		snprintf(err, err_n, "the object has more than %d managers",
			 API_MANAGED_ENTRIES_MAX);
		r = ERR_LIMIT;
	} else if (r == 0) {
		*ret = managed_write_finish(to, managed_entries_write(&l));
		if (strcmp(x->w->manager, "kubectl") == 0)
			managed_applied_set(*ret, config);
	}
	json_decref(to);
	managed_entries_done(&l);
	return r;
}

int api_managed_apply(const struct api_managed_write *w, const json_t *config, bool force,
		      json_t **ret, struct api_conflicts *conflicts, char *err, size_t err_n)
{
	struct managed_write x;
	managed_write_init(&x, w);
	int r = apply(&x, config, force, ret, conflicts, err, err_n);
	managed_write_done(&x);
	return r;
}
