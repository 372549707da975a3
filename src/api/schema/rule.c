/* SPDX-License-Identifier: GPL-3.0-or-later */
/* x-kubernetes-validations: the rules of a schema in CEL, compiled with it and evaluated for each object.
 * Messages, and when they are reported, follow the API server. */
#include "api/schema/rule_priv.h"

#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "api/schema/node_priv.h"
#include "api/schema/path_priv.h"
#include "api/schema/unchanged_priv.h"
#include "api/tree.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "cel/cel.h"

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

static const char *trimmed_text(const json_t *object, const char *key, struct arena *arena)
{
	struct slice s = slice_trim(slice_of(api_get_string(object, key)));
	return arena_strndup(arena, s.p, s.n);
}

/* ".name", ".labels['a.b']": as places in errors are written. */
static int read_field(const char *path, const struct schema_node *node, struct arena *arena,
		      const char **ret)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	struct slice rest = slice_of(path);
	while (rest.n != 0 && node != NULL) {
		bool quoted = slice_starts(rest, SLICE("['"));
		if (!quoted && rest.p[0] != '.')
			return ERR_PARSE;
		rest = slice_from(rest, quoted ? 2 : 1);
		size_t len = strcspn(rest.p, quoted ? "'" : ".[");
		const char *key = arena_strndup(arena, rest.p, len);
		rest = slice_from(rest, len);
		if (quoted && !slice_starts(rest, SLICE("']")))
			return ERR_PARSE;
		rest = slice_from(rest, quoted ? 2 : 0);
		const struct schema_node *p = schema_node_property(node, key);
		if (p != NULL)
			schema_path_child(&out, key);
		else
			schema_path_key(&out, key);
		node = p != NULL ? p : node->additional;
	}
	if (node == NULL)
		return ERR_NOTFOUND;
	*ret = arena_strdup(arena, out.s);
	return 0;
}

static int read_reason(const json_t *object, enum api_fielderr_type *ret)
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
		if (strcmp(api_get_string(object, "reason"), rows[i].word) == 0) {
			*ret = rows[i].type;
			return 0;
		}
	}
	return ERR_PARSE;
}

static int check_keys(const json_t *object, struct err_text err)
{
	static const char known[] =
		" rule message messageExpression reason fieldPath optionalOldSelf ";
	const char *key;
	json_t *value;
	json_object_foreach (api_tree(object), key, value) {
		char word[64];
		snprintf(word, sizeof(word), " %s ", key);
		if (strstr(known, word) == NULL) {
			err_text_set(err, "'%s' is not supported", key);
			return ERR_UNSUPPORTED;
		}
	}
	return 0;
}

static int read_rule(struct api_schema *schema, const struct schema_node *node,
		     const json_t *object, struct schema_rule *ret, struct err_text err)
{
	struct cel_env env = {
		.self = node->rule_type,
		.resource = node == schema->root || node->embedded,
		.optional_old = json_is_true(json_object_get(object, "optionalOldSelf")),
	};
	int r = check_keys(object, err);
	if (r < 0)
		return r;
	const char *text = trimmed_text(object, "rule", &schema->arena);
	ret->message = trimmed_text(object, "message", &schema->arena);
	ret->text = ret->message[0] != '\0' ? ret->message : text;
	ret->optional_old = env.optional_old;
	if (read_reason(object, &ret->type) < 0 ||
	    read_field(api_get_string(object, "fieldPath"), node, &schema->arena, &ret->field) <
		    0) {
		err_text_set(err, "malformed reason or fieldPath");
		return ERR_PARSE;
	}
	if ((r = cel_parse(slice_of(text), &env, &schema->arena, &ret->rule, err)) < 0)
		return r;
	const char *expr = api_get_string(object, "messageExpression");
	env.text = true;
	return expr[0] == '\0'
		       ? 0
		       : cel_parse(slice_of(expr), &env, &schema->arena, &ret->message_expr, err);
}

int schema_rules_read(struct api_schema *schema, struct schema_node *node, const json_t *list,
		      struct err_text err)
{
	char text[384];
	node->rules =
		arena_calloc(&schema->arena, (json_array_size(list) + 1) * sizeof(*node->rules));
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *o = json_array_get(list, i);
		int r = read_rule(schema, node, o, &node->rules[i], ERR_TEXT(text));
		node->n_rules++; /* what was read of it must be freed */
		if (r < 0) {
			err_text_set(err, "[%zu]: %s", i, text);
			return r;
		}
	}
	return 0;
}

void schema_rules_done(struct schema_node *node)
{
	for (size_t i = 0; i < node->n_rules; i++) {
		cel_expr_done(node->rules[i].rule);
		cel_expr_done(node->rules[i].message_expr);
	}
}

/* ---- evaluating ---- */

/* A value and its old one; `old` is NULL when that is not known. */
struct pair {
	const struct schema_node *node;
	const json_t *value, *old;
};

struct evaluation {
	struct api_errors *errs;
	struct strbuf path;
	struct arena arena;
	struct regex_scratch *scratch;
	int64_t budget; /* cost that is left; negative: no more rules are evaluated */
};

static const char *type_name(const struct schema_node *node)
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
	return names[node->type];
}

static void out_of_budget(struct evaluation *evaluation, const struct schema_node *node)
{
	api_errors_add(evaluation->errs, API_FIELD_INVALID, evaluation->path.s, type_name(node),
		       "validation failed due to running out of cost budget, no further validation "
		       "rules will be run");
	evaluation->budget = -1;
}

/* Reports an error of the evaluation itself; false when it had none. */
static bool report_error(struct evaluation *evaluation, const struct pair *pair,
			 const struct schema_rule *rule, const struct cel_run *run,
			 const struct cel_value *value)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	if (run->cost > run->cost_max) {
		strbuf_addf(
			&text,
			"'operation cancelled: actual cost limit exceeded': no further "
			"validation rules will be run due to call cost exceeds limit for rule: %s",
			rule->text);
		evaluation->budget = -1;
	} else if (value->type != CEL_ERROR) {
		return false;
	} else if (slice_starts(slice_of(value->u.error), SLICE("no such overload"))) {
		strbuf_addf(&text,
			    "'%s': call arguments did not match a supported operator, function or "
			    "macro signature for rule: %s",
			    value->u.error, rule->text);
	} else {
		strbuf_addf(&text, "%s evaluating rule: %s", value->u.error, rule->text);
	}
	api_errors_add(evaluation->errs, API_FIELD_INVALID, evaluation->path.s,
		       type_name(pair->node), text.s);
	return true;
}

/* The message of an expression, if it makes one that may be shown. */
static bool message_of(struct cel_run *run, const struct schema_rule *rule, struct strbuf *out)
{
	if (rule->message_expr == NULL)
		return false;
	run->cost = 0;
	struct cel_value v = cel_eval(run, rule->message_expr);
	if (run->cost > run->cost_max || v.type != CEL_STRING)
		return false;
	struct slice s = slice_trim(v.u.text);
	if (s.n == 0 || s.n > MESSAGE_MAX || slice_find(s, '\n') >= 0)
		return false;
	strbuf_add_slice(out, s);
	return true;
}

static void report_broken(struct evaluation *evaluation, const struct pair *pair,
			  const struct schema_rule *rule, struct cel_run *run)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT, value = STRBUF_INIT;
	bool shown = pair->node->type != SCHEMA_OBJECT && pair->node->type != SCHEMA_ARRAY &&
		     (rule->type == API_FIELD_INVALID || rule->type == API_FIELD_DUPLICATE);
	size_t at = evaluation->path.n;
	if (!message_of(run, rule, &text))
		strbuf_addf(&text, "%s%s",
			    rule->message[0] != '\0' ? "" : "failed rule: ", rule->text);
	if (shown)
		api_fielderr_value(&value, pair->value);
	if (rule->field[0] != '\0')
		schema_path_child(&evaluation->path, rule->field);
	api_errors_add(evaluation->errs, rule->type, evaluation->path.s, shown ? value.s : NULL,
		       rule->type == API_FIELD_DUPLICATE ? "" : text.s);
	schema_path_cut(&evaluation->path, at);
}

static struct cel_value old_value(struct evaluation *evaluation, const struct pair *pair,
				  bool optional)
{
	struct cel_value v = { .type = CEL_NULL };
	if (pair->old != NULL)
		v = cel_of_json(pair->old, pair->node->rule_type);
	if (!optional)
		return v;
	struct cel_value *inner =
		pair->old != NULL ? arena_memdup(&evaluation->arena, &v, sizeof(v)) : NULL;
	return (struct cel_value){ .type = CEL_OPTIONAL, .u.inner = inner };
}

/* `was` is the nearest value around this one, or itself, whose old one is known. */
static void check_rule(struct evaluation *evaluation, const struct pair *pair,
		       const struct pair *was, const struct schema_rule *rule)
{
	struct cel_run run = { .arena = &evaluation->arena,
			       .scratch = evaluation->scratch,
			       .cost_max = CEL_COST_MAX };
	bool uses_old = rule->rule->uses_old;
	if (uses_old && pair->old == NULL && !rule->optional_old)
		return; /* it is about a change */
	arena_reset(&evaluation->arena);
	run.slots[CEL_SLOT_SELF] = cel_of_json(pair->value, pair->node->rule_type);
	run.slots[CEL_SLOT_OLD] = old_value(evaluation, pair, rule->optional_old);
	struct cel_value v = cel_eval(&run, rule->rule);
	evaluation->budget -= (int64_t)MIN(run.cost, run.cost_max);
	if (evaluation->budget < 0) {
		out_of_budget(evaluation, pair->node);
		return;
	}
	if (report_error(evaluation, pair, rule, &run, &v) || (v.type == CEL_BOOL && v.u.boolean))
		return;
	if (!uses_old && was->old != NULL && schema_unchanged(was->node, was->value, was->old))
		return; /* what an update did not touch is not held against it */
	report_broken(evaluation, pair, rule, &run);
}

static void check_value(struct evaluation *evaluation, const struct pair *pair,
			const struct pair *was);

static void check_below(struct evaluation *evaluation, const struct pair *pair,
			const struct pair *parent)
{
	check_value(evaluation, pair, pair->old != NULL ? pair : parent);
}

/* A member; `own`: it is described as a property, not by additionalProperties. */
static void check_member(struct evaluation *evaluation, const struct pair *member,
			 const struct pair *was, const char *key, bool own)
{
	static const struct pair none;
	size_t at = evaluation->path.n;
	bool word = at == 0 && (strcmp(key, "apiVersion") == 0 || strcmp(key, "kind") == 0);
	if (own)
		schema_path_child(&evaluation->path, key);
	else
		schema_path_key(&evaluation->path, key);
	if (word)
		check_value(evaluation, member, &none);
	else
		check_below(evaluation, member, was);
	schema_path_cut(&evaluation->path, at);
}

static void check_property(struct evaluation *evaluation, const struct pair *pair,
			   const struct pair *was, const struct schema_member *property)
{
	struct pair member = {
		.node = property->node,
		.value = json_object_getn(pair->value, property->key, property->key_n),
	};
	if (member.value == NULL)
		return;
	member.old = json_object_getn(pair->old, property->key, property->key_n);
	check_member(evaluation, &member, was, property->key, true);
}

/* Rules are evaluated in the order of the object's members. */
static void check_members(struct evaluation *evaluation, const struct pair *pair,
			  const struct pair *was)
{
	const struct schema_node *node = pair->node;
	const bool additional = node->additional != NULL && node->additional->any_rules;
	const char *key;
	json_t *value;
	if (!additional && node->with_rules.n <= 1) {
		if (node->with_rules.n == 1)
			check_property(evaluation, pair, was, &node->with_rules.v[0]);
		return;
	}
	json_object_foreach (api_tree(pair->value), key, value) {
		const struct schema_node *own = schema_node_property(node, key);
		struct pair member = { .node = own != NULL ? own : node->additional,
				       .value = value };
		if (member.node == NULL || !member.node->any_rules)
			continue;
		member.old = json_object_get(pair->old, key);
		check_member(evaluation, &member, was, key, own != NULL);
	}
}

static void check_value(struct evaluation *evaluation, const struct pair *pair,
			const struct pair *was)
{
	size_t at = evaluation->path.n, i;
	json_t *item;
	if (json_is_null(pair->value))
		return;
	for (i = 0; i < pair->node->n_rules && evaluation->budget >= 0; i++)
		check_rule(evaluation, pair, was, &pair->node->rules[i]);
	if (evaluation->budget < 0)
		return;
	if (json_is_object(pair->value))
		check_members(evaluation, pair, was);
	if (pair->node->items == NULL || !pair->node->items->any_rules)
		return;
	json_array_foreach (pair->value, i, item) {
		struct pair sub = { pair->node->items, item,
				    schema_find_item(pair->node, pair->old, item) };
		schema_path_index(&evaluation->path, i);
		check_below(evaluation, &sub, was);
		schema_path_cut(&evaluation->path, at);
	}
}

static bool is_blocking(const struct api_fielderr *error)
{
	return error->type == API_FIELD_TYPE || error->type == API_FIELD_REQUIRED ||
	       error->type == API_FIELD_UNSUPPORTED || error->type == API_FIELD_TOO_LONG ||
	       error->type == API_FIELD_TOO_MANY;
}

void schema_validate_rules(const struct api_schema *schema, const json_t *object, const json_t *old,
			   struct api_errors *errs)
{
	struct evaluation evaluation = { .errs = errs,
					 .path = STRBUF_INIT,
					 .budget = RULES_COST_MAX };
	struct pair root = { schema->root, object, old };
	if (!schema->root->any_rules)
		return;
	for (size_t i = 0; i < errs->n; i++) {
		if (!is_blocking(&errs->v[i]))
			continue;
		api_errors_add(errs, API_FIELD_INVALID, "", "null",
			       "some validation rules were not checked because the object was "
			       "invalid; correct the existing errors to complete validation");
		return;
	}
	arena_init(&evaluation.arena);
	evaluation.scratch = regex_scratch_of_thread();
	check_value(&evaluation, &root, &root);
	arena_done(&evaluation.arena);
	strbuf_done(&evaluation.path);
}
