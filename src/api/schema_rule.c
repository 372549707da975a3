/* x-kubernetes-validations: rules of a schema in CEL, read with it and looked at for each object.
 * What is told, and when, follows the server. */
#include <stdio.h>
#include <string.h>

#include "api/cel_priv.h"
#include "api/meta.h"
#include "api/schema_priv.h"
#include "api/tree.h"
#include "base/err.h"
#include "base/mem.h"

/* Of all rules for one object; for one rule, CEL_COST_MAX. */
enum { RULES_COST_MAX = 10000000, MESSAGE_MAX = 5 * 1024 };

struct schema_rule {
	struct cel_expr *rule, *message_expr; /* the second may be NULL */
	const char *message;		      /* trimmed; "" */
	const char *text;		      /* how the rule is named in errors */
	const char *field;		      /* below the value: "name", "labels[x]"; "" */
	enum api_fielderr_type type;
	bool optional_old;
};

/* ---- reading ---- */

static const char *trimmed(const json_t *o, const char *key, struct arena *a)
{
	struct slice s = slice_trim(slice_of(api_get_string(o, key)));
	return arena_strndup(a, s.p, s.n);
}

/* ".name", ".labels['a.b']": as places in errors are written. */
static int read_field(const char *path, const struct schema_node *n, struct arena *a,
		      const char **ret)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	struct slice rest = slice_of(path);
	while (rest.n != 0 && n != NULL) {
		bool quoted = slice_starts(rest, SLICE("['"));
		if (!quoted && rest.p[0] != '.')
			return ERR_PARSE;
		rest = slice_from(rest, quoted ? 2 : 1);
		size_t len = strcspn(rest.p, quoted ? "'" : ".[");
		const char *key = arena_strndup(a, rest.p, len);
		rest = slice_from(rest, len);
		if (quoted && !slice_starts(rest, SLICE("']")))
			return ERR_PARSE;
		rest = slice_from(rest, quoted ? 2 : 0);
		const struct schema_node *p = schema_property(n, key);
		if (p != NULL)
			schema_path_child(&out, key);
		else
			schema_path_key(&out, key);
		n = p != NULL ? p : n->additional;
	}
	if (n == NULL)
		return ERR_NOTFOUND;
	*ret = arena_strdup(a, out.s);
	return 0;
}

static int read_reason(const json_t *o, enum api_fielderr_type *ret)
{
	static const struct {
		const char *word;
		enum api_fielderr_type type;
	} rows[] = {
		{ "", API_FIELD_INVALID },
		{ "FieldValueInvalid", API_FIELD_INVALID },
		{ "FieldValueForbidden", API_FIELD_FORBIDDEN },
		{ "FieldValueRequired", API_FIELD_REQUIRED },
		{ "FieldValueDuplicate", API_FIELD_DUPLICATE },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (strcmp(api_get_string(o, "reason"), rows[i].word) == 0) {
			*ret = rows[i].type;
			return 0;
		}
	}
	return ERR_PARSE;
}

static int known_keys(const json_t *o, char *err, size_t err_n)
{
	static const char known[] =
		" rule message messageExpression reason fieldPath optionalOldSelf ";
	const char *key;
	json_t *value;
	json_object_foreach (api_tree(o), key, value) {
		char word[64];
		snprintf(word, sizeof(word), " %s ", key);
		if (strstr(known, word) == NULL) {
			snprintf(err, err_n, "'%s' is not supported", key);
			return ERR_UNSUPPORTED;
		}
	}
	return 0;
}

static int read_rule(struct api_schema *s, const struct schema_node *n, const json_t *o,
		     struct schema_rule *ret, char *err, size_t err_n)
{
	struct cel_env env = {
		.self = n,
		.resource = n == s->root || n->embedded,
		.optional_old = json_is_true(json_object_get(o, "optionalOldSelf")),
	};
	int r = known_keys(o, err, err_n);
	if (r < 0)
		return r;
	const char *text = trimmed(o, "rule", &s->arena);
	ret->message = trimmed(o, "message", &s->arena);
	ret->text = ret->message[0] != '\0' ? ret->message : text;
	ret->optional_old = env.optional_old;
	if (read_reason(o, &ret->type) < 0 ||
	    read_field(api_get_string(o, "fieldPath"), n, &s->arena, &ret->field) < 0) {
		snprintf(err, err_n, "malformed reason or fieldPath");
		return ERR_PARSE;
	}
	if ((r = cel_parse(slice_of(text), &env, &s->arena, &ret->rule, err, err_n)) < 0)
		return r;
	const char *expr = api_get_string(o, "messageExpression");
	env.text = true;
	return expr[0] == '\0'
		       ? 0
		       : cel_parse(slice_of(expr), &env, &s->arena, &ret->message_expr, err, err_n);
}

int schema_rules_read(struct api_schema *s, struct schema_node *n, const json_t *list, char *err,
		      size_t err_n)
{
	char text[384];
	n->rules = arena_calloc(&s->arena, (json_array_size(list) + 1) * sizeof(*n->rules));
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *o = json_array_get(list, i);
		int r = read_rule(s, n, o, &n->rules[i], text, sizeof(text));
		n->n_rules++; /* what was read of it must be freed */
		if (r < 0) {
			snprintf(err, err_n, "[%zu]: %s", i, text);
			return r;
		}
	}
	return 0;
}

void schema_rules_done(struct schema_node *n)
{
	for (size_t i = 0; i < n->n_rules; i++) {
		cel_expr_done(n->rules[i].rule);
		cel_expr_done(n->rules[i].message_expr);
	}
}

/* ---- looking ---- */

/* A value beside what it was; `old` is NULL when that cannot be told. */
struct pair {
	const struct schema_node *node;
	const json_t *v, *old;
};

struct look {
	struct api_errors *errs;
	struct strbuf path;
	struct arena arena;
	struct regex_scratch *scratch;
	int64_t budget; /* negative: no rule is looked at any more */
};

static const char *type_name(const struct schema_node *n)
{
	static const char *const names[] = {
		[SCHEMA_ANY] = "\"\"",
		[SCHEMA_OBJECT] = "\"object\"",
		[SCHEMA_ARRAY] = "\"array\"",
		[SCHEMA_STRING] = "\"string\"",
		[SCHEMA_INTEGER] = "\"integer\"",
		[SCHEMA_NUMBER] = "\"number\"",
		[SCHEMA_BOOLEAN] = "\"boolean\"",
	};
	return names[n->type];
}

static void out_of_budget(struct look *l, const struct schema_node *n)
{
	api_errors_add(l->errs, API_FIELD_INVALID, l->path.s, type_name(n),
		       "validation failed due to running out of cost budget, no further validation "
		       "rules will be run");
	l->budget = -1;
}

/* Did the rule's evaluation go wrong? Then that is told. */
static bool tell_error(struct look *l, const struct pair *p, const struct schema_rule *rule,
		       const struct cel_run *run, const struct cel_value *v)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	if (run->cost > run->cost_max) {
		strbuf_addf(
			&text,
			"'operation cancelled: actual cost limit exceeded': no further "
			"validation rules will be run due to call cost exceeds limit for rule: %s",
			rule->text);
		l->budget = -1;
	} else if (v->type != CEL_ERROR) {
		return false;
	} else if (slice_starts(slice_of(v->u.error), SLICE("no such overload"))) {
		strbuf_addf(&text,
			    "'%s': call arguments did not match a supported operator, function or "
			    "macro signature for rule: %s",
			    v->u.error, rule->text);
	} else {
		strbuf_addf(&text, "%s evaluating rule: %s", v->u.error, rule->text);
	}
	api_errors_add(l->errs, API_FIELD_INVALID, l->path.s, type_name(p->node), text.s);
	return true;
}

/* The message of an expression, if it makes one that may be shown. */
static bool message_of(struct cel_run *run, const struct schema_rule *rule, struct strbuf *out)
{
	if (rule->message_expr == NULL)
		return false;
	run->cost = 0;
	struct cel_value v = cel_eval(run, rule->message_expr->root);
	if (run->cost > run->cost_max || v.type != CEL_STRING)
		return false;
	struct slice s = slice_trim(v.u.s);
	if (s.n == 0 || s.n > MESSAGE_MAX || slice_find(s, '\n') >= 0)
		return false;
	strbuf_add_slice(out, s);
	return true;
}

static void tell_broken(struct look *l, const struct pair *p, const struct schema_rule *rule,
			struct cel_run *run)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT, value = STRBUF_INIT;
	bool shown = p->node->type != SCHEMA_OBJECT && p->node->type != SCHEMA_ARRAY &&
		     (rule->type == API_FIELD_INVALID || rule->type == API_FIELD_DUPLICATE);
	size_t at = l->path.n;
	if (!message_of(run, rule, &text))
		strbuf_addf(&text, "%s%s",
			    rule->message[0] != '\0' ? "" : "failed rule: ", rule->text);
	if (shown)
		api_fielderr_value(&value, p->v);
	if (rule->field[0] != '\0')
		schema_path_child(&l->path, rule->field);
	api_errors_add(l->errs, rule->type, l->path.s, shown ? value.s : NULL,
		       rule->type == API_FIELD_DUPLICATE ? "" : text.s);
	schema_path_cut(&l->path, at);
}

static struct cel_value old_value(struct look *l, const struct pair *p, bool optional)
{
	struct cel_value v = { .type = CEL_NULL };
	if (p->old != NULL)
		v = cel_of_json(p->old, p->node);
	if (!optional)
		return v;
	struct cel_value *inner = p->old != NULL ? arena_memdup(&l->arena, &v, sizeof(v)) : NULL;
	return (struct cel_value){ .type = CEL_OPTIONAL, .u.inner = inner };
}

/* `was` is the nearest value around this one, or itself, whose old one is known. */
static void look_rule(struct look *l, const struct pair *p, const struct pair *was,
		      const struct schema_rule *rule)
{
	struct cel_run run = { .arena = &l->arena,
			       .scratch = l->scratch,
			       .cost_max = CEL_COST_MAX };
	bool uses_old = rule->rule->uses_old;
	if (uses_old && p->old == NULL && !rule->optional_old)
		return; /* it is about a change */
	arena_reset(&l->arena);
	run.slot[CEL_SLOT_SELF] = cel_of_json(p->v, p->node);
	run.slot[CEL_SLOT_OLD] = old_value(l, p, rule->optional_old);
	struct cel_value v = cel_eval(&run, rule->rule->root);
	l->budget -= (int64_t)MIN(run.cost, run.cost_max);
	if (l->budget < 0) {
		out_of_budget(l, p->node);
		return;
	}
	if (tell_error(l, p, rule, &run, &v) || (v.type == CEL_BOOL && v.u.b))
		return;
	if (!uses_old && was->old != NULL && schema_unchanged(was->node, was->v, was->old))
		return; /* what an update did not touch is not held against it */
	tell_broken(l, p, rule, &run);
}

static void look(struct look *l, const struct pair *p, const struct pair *was);

static void look_below(struct look *l, const struct pair *p, const struct pair *parent)
{
	look(l, p, p->old != NULL ? p : parent);
}

static void look_object(struct look *l, const struct pair *p, const struct pair *was)
{
	const char *key;
	json_t *value;
	size_t at = l->path.n;
	static const struct pair none;
	json_object_foreach (api_tree(p->v), key, value) {
		const struct schema_node *own = schema_property(p->node, key);
		struct pair sub = { own != NULL ? own : p->node->additional, value,
				    json_object_get(p->old, key) };
		bool word = at == 0 && (strcmp(key, "apiVersion") == 0 || strcmp(key, "kind") == 0);
		if (sub.node == NULL || !sub.node->any_rules)
			continue;
		if (own != NULL)
			schema_path_child(&l->path, key);
		else
			schema_path_key(&l->path, key);
		if (word)
			look(l, &sub, &none);
		else
			look_below(l, &sub, was);
		schema_path_cut(&l->path, at);
	}
}

static void look(struct look *l, const struct pair *p, const struct pair *was)
{
	size_t at = l->path.n, i;
	json_t *item;
	if (json_is_null(p->v))
		return;
	for (i = 0; i < p->node->n_rules && l->budget >= 0; i++)
		look_rule(l, p, was, &p->node->rules[i]);
	if (l->budget < 0)
		return;
	if (json_is_object(p->v))
		look_object(l, p, was);
	if (p->node->items == NULL || !p->node->items->any_rules)
		return;
	json_array_foreach (p->v, i, item) {
		struct pair sub = { p->node->items, item, schema_same_key(p->node, p->old, item) };
		schema_path_index(&l->path, i);
		look_below(l, &sub, was);
		schema_path_cut(&l->path, at);
	}
}

static bool blocks(const struct api_fielderr *e)
{
	return e->type == API_FIELD_TYPE || e->type == API_FIELD_REQUIRED ||
	       e->type == API_FIELD_UNSUPPORTED || e->type == API_FIELD_TOO_LONG ||
	       e->type == API_FIELD_TOO_MANY;
}

void schema_validate_rules(const struct api_schema *s, const json_t *o, const json_t *old,
			   struct api_errors *errs)
{
	struct look l = { .errs = errs, .path = STRBUF_INIT, .budget = RULES_COST_MAX };
	struct pair root = { s->root, o, old };
	if (!s->root->any_rules)
		return;
	for (size_t i = 0; i < errs->n; i++) {
		if (!blocks(&errs->v[i]))
			continue;
		api_errors_add(errs, API_FIELD_INVALID, "", "null",
			       "some validation rules were not checked because the object was "
			       "invalid; correct the existing errors to complete validation");
		return;
	}
	arena_init(&l.arena);
	l.scratch = regex_scratch_new(0);
	look(&l, &root, &root);
	regex_scratch_free(l.scratch);
	arena_done(&l.arena);
	strbuf_done(&l.path);
}
