/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Validates spec.templates. All of it is checked, so that one message lists all problems; the list is
 * accepted as a whole or not at all. */
#include "controller/dnsoperator/plan/validate_templates.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/tree.h"
#include "api/yaml/yaml.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/map.h"
#include "base/slice.h"
#include "controller/dnsoperator/plan/render.h"
#include "controller/dnsoperator/plan/zone_name.h"
#include "controller/dnsoperator/plan/zones.h"

struct check {
	struct dnsoperator_problems *problems;
	struct arena *arena;
	const char *domain;
	struct map names; /* -> the field that has it */
	struct map zones; /* -> the field that has it */
	/* where we are */
	const char *tmpl;
	struct strbuf field;
};

static struct slice text_of(const json_t *value)
{
	return api_text_slice(value);
}

static void add_problem(const struct check *check, enum dnsoperator_reason reason,
			const struct slice *value, const char *why, const char *fix)
{
	struct dnsoperator_problem_at at = { check->tmpl, check->field.s, value };
	dnsoperator_problem_add(check->problems, reason, &at, why, fix);
}

/* Goes into a member; the caller cuts the field back to what this returns. */
static size_t enter_field(struct check *check, const char *fmt, ...) PRINTF_LIKE(2, 3);
static size_t enter_field(struct check *check, const char *fmt, ...)
{
	size_t at = check->field.n;
	va_list ap;
	va_start(ap, fmt);
	strbuf_vaddf(&check->field, fmt, ap);
	va_end(ap);
	return at;
}

static void leave_field(struct check *check, size_t at)
{
	check->field.n = at;
	check->field.s[at] = '\0';
}

/* NULL when it is missing or null: the API drops nulls, an annotation does not. */
static const json_t *member_of(const json_t *object, const char *name)
{
	const json_t *v = json_object_get(object, name);
	return json_is_null(v) ? NULL : v;
}

/* Members by other names come from a later version, or were misspelt in an annotation (OP-10). */
static void check_members(struct check *check, const json_t *object, const char *known)
{
	const char *key;
	json_t *v;
	json_object_foreach (api_tree(object), key, v) {
		const char *at = strstr(known, key);
		size_t n = strlen(key);
		if (n != 0 && at != NULL && (at == known || at[-1] == ' ') &&
		    (at[n] == ' ' || at[n] == '\0'))
			continue;
		struct slice name = slice_of(key);
		char fix[160];
		snprintf(fix, sizeof(fix), "use only %s", known);
		add_problem(check, DNSOPERATOR_UNSUPPORTED_VALUE, &name, "is an unknown field",
			    fix);
	}
}

/* ---- names ---- */

static bool is_template_name(struct slice text)
{
	if (text.n == 0 || text.p[0] == '-' || text.p[text.n - 1] == '-')
		return false;
	for (size_t i = 0; i < text.n; i++) {
		char ch = text.p[i];
		if (!ascii_isdigit(ch) && !(ch >= 'a' && ch <= 'z') && ch != '-')
			return false;
	}
	return true;
}

static void check_name(struct check *check, const json_t *object)
{
	static const char fix[] = "use a label of at most 64 lower-case letters, digits and inner "
				  "hyphens";
	const json_t *v = member_of(object, "name");
	struct slice s = text_of(v);
	size_t at = enter_field(check, ".name");
	if (v == NULL) {
		add_problem(check, DNSOPERATOR_INVALID_NAME, NULL, "is missing", fix);
	} else if (!json_is_string(v)) {
		add_problem(check, DNSOPERATOR_INVALID_NAME, NULL, "is not a string", fix);
	} else if (s.n > DNSOPERATOR_TEMPLATE_NAME_MAX) {
		add_problem(check, DNSOPERATOR_INVALID_NAME, &s, "is longer than 64 characters",
			    fix);
	} else if (!is_template_name(s)) {
		add_problem(check, DNSOPERATOR_INVALID_NAME, &s, "is not a label", fix);
	} else if (map_has(&check->names, s)) {
		char why[160];
		check->tmpl = s.p;
		snprintf(why, sizeof(why), "is the name of %s, too",
			 (const char *)map_get(&check->names, s));
		add_problem(check, DNSOPERATOR_DUPLICATE_NAME, &s, why,
			    "give each template a unique name");
	} else {
		map_set(&check->names, s, arena_strdup(check->arena, check->field.s));
		check->tmpl = s.p;
	}
	leave_field(check, at);
}

/* ---- zones ---- */

/* NULL when it was refused. */
static const char *check_zone(struct check *check, const json_t *value)
{
	struct slice s = text_of(value), bare = s;
	if (!json_is_string(value)) {
		add_problem(check, DNSOPERATOR_INVALID_ZONE, NULL, "is not a string",
			    dnsoperator_zone_advice(s, check->arena));
		return NULL;
	}
	if (s.n > 1 && s.p[s.n - 1] == '.')
		bare.n--;
	if (!dnsoperator_is_zone(bare) || (slice_is(bare, ".") && s.n != 1)) {
		add_problem(check, DNSOPERATOR_INVALID_ZONE, &s, "is not a DNS name",
			    dnsoperator_zone_advice(s, check->arena));
		return NULL;
	}
	const char *z = dnsoperator_zone_normal(check->arena, s);
	if (check->domain != NULL && dnsoperator_zone_has(check->domain, z)) {
		char why[400];
		snprintf(why, sizeof(why), "is in the cluster's own domain %s", check->domain);
		add_problem(
			check, DNSOPERATOR_RESERVED_ZONE, &s, why,
			"remove it: names of the cluster are always answered from its Services");
		return NULL;
	}
	if (map_has(&check->zones, slice_of(z))) {
		char why[200];
		snprintf(why, sizeof(why), "is in %s already for type AAAA",
			 (const char *)map_get(&check->zones, slice_of(z)));
		add_problem(check, DNSOPERATOR_DUPLICATE_ZONE, &s, why, "keep one of the two");
		return NULL;
	}
	map_set(&check->zones, slice_of(z), arena_strdup(check->arena, check->field.s));
	return z;
}

static void check_zones(struct check *check, const json_t *object, struct dnsoperator_template *ret)
{
	static const char fix[] = "list the zones, \".\" for all names";
	const json_t *list = member_of(object, "zones");
	size_t at = enter_field(check, ".zones"), i, n = json_array_size(list);
	json_t *v;
	char why[64];
	if (list == NULL)
		add_problem(check, DNSOPERATOR_INVALID_ZONE, NULL, "is missing", fix);
	else if (!json_is_array(list))
		add_problem(check, DNSOPERATOR_INVALID_ZONE, NULL, "is not a list", fix);
	else if (n == 0)
		add_problem(check, DNSOPERATOR_INVALID_ZONE, NULL, "is empty", fix);
	if (n > DNSOPERATOR_ZONES_MAX) {
		snprintf(why, sizeof(why), "has %zu zones", n);
		add_problem(check, DNSOPERATOR_INVALID_ZONE, NULL, why,
			    "use at most 256 in a template");
		n = 0;
	}
	ret->zones = arena_alloc(check->arena, (n + 1) * sizeof(*ret->zones));
	json_array_foreach (list, i, v) {
		if (i == n)
			break;
		size_t here = enter_field(check, "[%zu]", i);
		const char *z = check_zone(check, v);
		if (z != NULL)
			ret->zones[ret->n_zones++] = z;
		leave_field(check, here);
	}
	leave_field(check, at);
}

/* ---- type, class, action ---- */

/* One of a kind so far: absent means that one. */
static void check_only(struct check *check, const json_t *object, const char *name,
		       const char *only)
{
	const json_t *v = member_of(object, name);
	size_t at = enter_field(check, ".%s", name);
	struct slice s = text_of(v);
	char fix[64];
	snprintf(fix, sizeof(fix), "use %s, or leave it out", only);
	if (v != NULL && !json_is_string(v))
		add_problem(check, DNSOPERATOR_UNSUPPORTED_VALUE, NULL, "is not a string", fix);
	else if (v != NULL && !slice_is(s, only))
		add_problem(check, DNSOPERATOR_UNSUPPORTED_VALUE, &s, "is not supported", fix);
	leave_field(check, at);
}

static const struct api_answer *check_answer(struct check *check, const json_t *object)
{
	static const char fix[] =
		"write a record in each line, as {{ .Name }} 3600 IN AAAA 2001:db8::1";
	const json_t *v = member_of(object, "answerTemplate");
	struct api_answer *answer = arena_calloc(check->arena, sizeof(*answer));
	struct slice s = text_of(v);
	char why[512];
	size_t at = enter_field(check, ".answerTemplate");
	if (v == NULL)
		add_problem(check, DNSOPERATOR_INVALID_ANSWER, NULL, "is missing", fix);
	else if (!json_is_string(v))
		add_problem(check, DNSOPERATOR_INVALID_ANSWER, NULL, "is not a string", fix);
	else if (api_answer_template_parse(s, answer, ERR_TEXT(why)) < 0)
		add_problem(check, DNSOPERATOR_INVALID_ANSWER, &s, why, fix);
	leave_field(check, at);
	return answer;
}

static void check_action(struct check *check, const json_t *object,
			 struct dnsoperator_template *ret)
{
	static const char one[] = "exactly one action type must be specified";
	static const char fix[] = "set either returnEmpty or generateResponse";
	const json_t *action = member_of(object, "action");
	const json_t *empty = member_of(action, "returnEmpty");
	const json_t *generate = member_of(action, "generateResponse");
	size_t at = enter_field(check, ".action");
	check_members(check, action, "returnEmpty generateResponse");
	if (!json_is_object(action) || (empty != NULL) == (generate != NULL)) {
		char why[100];
		snprintf(why, sizeof(why), "has %s: %s", empty != NULL ? "both" : "none", one);
		add_problem(check, DNSOPERATOR_UNSUPPORTED_VALUE, NULL, why, fix);
		leave_field(check, at);
		return;
	}
	const json_t *which = empty != NULL ? empty : generate;
	enter_field(check, empty != NULL ? ".returnEmpty" : ".generateResponse");
	if (!json_is_object(which)) {
		add_problem(check, DNSOPERATOR_UNSUPPORTED_VALUE, NULL, "is not an object",
			    "write it as {} with its fields");
	} else {
		check_members(check, which, empty != NULL ? "rcode" : "answerTemplate rcode");
		check_only(check, which, "rcode", "NOERROR");
		if (empty == NULL)
			ret->answer = check_answer(check, which);
	}
	leave_field(check, at);
}

static void check_template(struct check *check, const json_t *object,
			   struct dnsoperator_template *ret)
{
	if (!json_is_object(object)) {
		add_problem(check, DNSOPERATOR_UNSUPPORTED_VALUE, NULL, "is not an object",
			    "write it with name, zones and action");
		return;
	}
	check_name(check, object);
	check_members(check, object, "name zones queryType queryClass action");
	check_zones(check, object, ret);
	check_only(check, object, "queryType", "AAAA");
	check_only(check, object, "queryClass", "IN");
	check_action(check, object, ret);
	ret->name = check->tmpl != NULL ? arena_strdup(check->arena, check->tmpl) : "";
}

static void check_list(struct check *check, const json_t *list, struct dnsoperator_templates *ret)
{
	size_t i, n = json_array_size(list);
	json_t *v;
	if (!json_is_array(list))
		add_problem(check, DNSOPERATOR_UNSUPPORTED_VALUE, NULL, "is not a list",
			    "write a list of templates");
	if (n > DNSOPERATOR_TEMPLATES_MAX) {
		char why[64];
		snprintf(why, sizeof(why), "has %zu templates", n);
		add_problem(check, DNSOPERATOR_TOO_MANY_TEMPLATES, NULL, why,
			    "use at most 20: a template may have 256 zones");
		n = DNSOPERATOR_TEMPLATES_MAX;
	}
	ret->v = arena_calloc(check->arena, (n + 1) * sizeof(*ret->v));
	json_array_foreach (list, i, v) {
		if (i == n)
			break;
		size_t at = enter_field(check, "[%zu]", i);
		check->tmpl = NULL;
		check_template(check, v, &ret->v[i]);
		check->tmpl = NULL;
		leave_field(check, at);
	}
	ret->n = n;
}

int dnsoperator_templates_check(const json_t *list, const char *domain, struct arena *arena,
				struct dnsoperator_templates *ret,
				struct dnsoperator_problems *problems)
{
	struct check c = { .problems = problems, .arena = arena, .domain = domain };
	size_t before = problems->n;
	*ret = (struct dnsoperator_templates){ 0 };
	if (list == NULL)
		return 0;
	map_init(&c.names);
	map_init(&c.zones);
	strbuf_init(&c.field);
	strbuf_adds(&c.field, "spec.templates");
	check_list(&c, list, ret);
	strbuf_done(&c.field);
	map_done(&c.names);
	map_done(&c.zones);
	if (problems->n == before)
		return 0;
	*ret = (struct dnsoperator_templates){ 0 };
	return ERR_CONFIG;
}

int dnsoperator_annotation_parse(const char *text, json_t **ret,
				 struct dnsoperator_problems *problems)
{
	static const char field[] = "metadata.annotations[" DNSOPERATOR_ANNOTATION "]";
	struct srcerr err;
	char why[700];
	if (strlen(text) > DNSOPERATOR_ANNOTATION_BYTES_MAX)
		snprintf(why, sizeof(why), "is longer than 256 KiB");
	else if (api_yaml_parse_one("annotation", slice_of(text), ret, &err) < 0)
		snprintf(why, sizeof(why), "is neither JSON nor YAML (line %u: %s)", err.pos.line,
			 err.text);
	else
		return 0;
	struct dnsoperator_problem_at at = { .field = field };
	dnsoperator_problem_add(problems, DNSOPERATOR_UNSUPPORTED_VALUE, &at, why,
				"write the list of spec.templates into it");
	return ERR_CONFIG;
}
