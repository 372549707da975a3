/* Checking spec.templates. Everything is looked at, so that one round tells all that is wrong; the
 * list is accepted whole or not at all. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/yaml.h"
#include "api/tree.h"
#include "base/err.h"
#include "base/map.h"
#include "base/slice.h"
#include "controller/dnsoperator/render.h"
#include "controller/dnsoperator/validate.h"

struct check {
	struct dnsoperator_problems *problems;
	struct arena *a;
	const char *domain;
	struct map names; /* -> the field that has it */
	struct map zones; /* -> the field that has it */
	/* where we are */
	const char *tmpl;
	struct strbuf field;
};

static struct slice text_of(const json_t *v)
{
	return api_text_slice(v);
}

static void say(const struct check *c, enum dnsoperator_reason r, const struct slice *value,
		const char *why, const char *fix)
{
	struct dnsoperator_place at = { c->tmpl, c->field.s, value };
	dnsoperator_problem_add(c->problems, r, &at, why, fix);
}

/* Goes into a member; the caller cuts the field back to what this returns. */
static size_t enter(struct check *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
static size_t enter(struct check *c, const char *fmt, ...)
{
	size_t at = c->field.n;
	va_list ap;
	va_start(ap, fmt);
	strbuf_vaddf(&c->field, fmt, ap);
	va_end(ap);
	return at;
}

static void leave(struct check *c, size_t at)
{
	c->field.n = at;
	c->field.s[at] = '\0';
}

/* A member that is there: the API drops nulls, an annotation does not. */
static const json_t *member(const json_t *o, const char *name)
{
	const json_t *v = json_object_get(o, name);
	return json_is_null(v) ? NULL : v;
}

/* Members by other names come from a later version, or were misspelt in an annotation (OP-10). */
static void check_members(struct check *c, const json_t *o, const char *known)
{
	const char *key;
	json_t *v;
	json_object_foreach (api_tree(o), key, v) {
		const char *at = strstr(known, key);
		size_t n = strlen(key);
		if (n != 0 && at != NULL && (at == known || at[-1] == ' ') &&
		    (at[n] == ' ' || at[n] == '\0'))
			continue;
		struct slice name = slice_of(key);
		char fix[160];
		snprintf(fix, sizeof(fix), "use only %s", known);
		say(c, DNSOPERATOR_UNSUPPORTED_VALUE, &name, "is a field that is not known here",
		    fix);
	}
}

/* ---- names ---- */

static bool is_template_name(struct slice s)
{
	if (s.n == 0 || s.p[0] == '-' || s.p[s.n - 1] == '-')
		return false;
	for (size_t i = 0; i < s.n; i++) {
		char ch = s.p[i];
		if (!ascii_isdigit(ch) && !(ch >= 'a' && ch <= 'z') && ch != '-')
			return false;
	}
	return true;
}

static void check_name(struct check *c, const json_t *o)
{
	static const char fix[] = "use a label of at most 64 lower-case letters, digits and inner "
				  "hyphens";
	const json_t *v = member(o, "name");
	struct slice s = text_of(v);
	size_t at = enter(c, ".name");
	if (v == NULL) {
		say(c, DNSOPERATOR_INVALID_NAME, NULL, "is missing", fix);
	} else if (!json_is_string(v)) {
		say(c, DNSOPERATOR_INVALID_NAME, NULL, "is not a text", fix);
	} else if (s.n > DNSOPERATOR_TEMPLATE_NAME_MAX) {
		say(c, DNSOPERATOR_INVALID_NAME, &s, "is longer than 64 characters", fix);
	} else if (!is_template_name(s)) {
		say(c, DNSOPERATOR_INVALID_NAME, &s, "is not a label", fix);
	} else if (map_has(&c->names, s)) {
		char why[160];
		c->tmpl = s.p;
		snprintf(why, sizeof(why), "is the name of %s, too",
			 (const char *)map_get(&c->names, s));
		say(c, DNSOPERATOR_DUPLICATE_NAME, &s, why, "give each template a name of its own");
	} else {
		map_set(&c->names, s, arena_strdup(c->a, c->field.s));
		c->tmpl = s.p;
	}
	leave(c, at);
}

/* ---- zones ---- */

static bool is_label(struct slice s)
{
	enum { LABEL_MAX = 63 };
	if (s.n == 0 || s.n > LABEL_MAX || s.p[0] == '-' || s.p[s.n - 1] == '-')
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (!ascii_isdigit(s.p[i]) && !ascii_isalpha(s.p[i]) && s.p[i] != '-')
			return false;
	}
	return true;
}

static bool is_zone(struct slice s)
{
	if (s.n == 0 || s.n > DNSOPERATOR_ZONE_CHARS_MAX)
		return false;
	if (slice_is(s, "."))
		return true;
	bool more = true;
	while (more) {
		more = slice_find(s, '.') >= 0;
		if (!is_label(slice_cut(&s, '.')))
			return false;
	}
	return true;
}

/* What is most likely meant by a zone that is none. */
static const char *zone_fix(struct slice s)
{
	for (size_t i = 0; i < s.n; i++) {
		if ((unsigned char)s.p[i] > 0x7f)
			return "write it in its ASCII form, with xn--";
		if (s.p[i] == '*')
			return "leave the wildcard out: a zone has all names below it";
		if (s.p[i] == '_')
			return "leave out what has an underscore: the zone above it has these "
			       "names, too";
	}
	return "use \".\" or labels of 1 to 63 letters, digits and inner hyphens, 253 characters "
	       "in "
	       "all";
}

/* Lower case and without its final dot. */
static const char *normal_zone(struct arena *a, struct slice s)
{
	if (s.n > 1 && s.p[s.n - 1] == '.')
		s.n--;
	char *z = arena_strndup(a, s.p, s.n);
	for (size_t i = 0; i < s.n; i++)
		z[i] = ascii_lower(z[i]);
	return z;
}

/* NULL when it was refused. */
static const char *check_zone(struct check *c, const json_t *v)
{
	struct slice s = text_of(v), bare = s;
	if (!json_is_string(v)) {
		say(c, DNSOPERATOR_INVALID_ZONE, NULL, "is not a text", zone_fix(s));
		return NULL;
	}
	if (s.n > 1 && s.p[s.n - 1] == '.')
		bare.n--;
	if (!is_zone(bare) || (slice_is(bare, ".") && s.n != 1)) {
		say(c, DNSOPERATOR_INVALID_ZONE, &s, "is not a DNS name", zone_fix(s));
		return NULL;
	}
	const char *z = normal_zone(c->a, s);
	if (c->domain != NULL && dnsoperator_zone_has(c->domain, z)) {
		char why[400];
		snprintf(why, sizeof(why), "is of the cluster's own domain %s", c->domain);
		say(c, DNSOPERATOR_RESERVED_ZONE, &s, why,
		    "remove it: names of the cluster are always answered from its Services");
		return NULL;
	}
	if (map_has(&c->zones, slice_of(z))) {
		char why[200];
		snprintf(why, sizeof(why), "is in %s already for type AAAA",
			 (const char *)map_get(&c->zones, slice_of(z)));
		say(c, DNSOPERATOR_DUPLICATE_ZONE, &s, why, "keep one of the two");
		return NULL;
	}
	map_set(&c->zones, slice_of(z), arena_strdup(c->a, c->field.s));
	return z;
}

static void check_zones(struct check *c, const json_t *o, struct dnsoperator_template *ret)
{
	static const char fix[] = "list the zones, \".\" for all names";
	const json_t *list = member(o, "zones");
	size_t at = enter(c, ".zones"), i, n = json_array_size(list);
	json_t *v;
	char why[64];
	if (list == NULL)
		say(c, DNSOPERATOR_INVALID_ZONE, NULL, "is missing", fix);
	else if (!json_is_array(list))
		say(c, DNSOPERATOR_INVALID_ZONE, NULL, "is not a list", fix);
	else if (n == 0)
		say(c, DNSOPERATOR_INVALID_ZONE, NULL, "is empty", fix);
	if (n > DNSOPERATOR_ZONES_MAX) {
		snprintf(why, sizeof(why), "has %zu zones", n);
		say(c, DNSOPERATOR_INVALID_ZONE, NULL, why, "use at most 256 in a template");
		n = 0;
	}
	ret->zones = arena_alloc(c->a, (n + 1) * sizeof(*ret->zones));
	json_array_foreach (list, i, v) {
		if (i == n)
			break;
		size_t here = enter(c, "[%zu]", i);
		const char *z = check_zone(c, v);
		if (z != NULL)
			ret->zones[ret->n_zones++] = z;
		leave(c, here);
	}
	leave(c, at);
}

/* ---- type, class, action ---- */

/* One of a kind so far: absent means that one. */
static void check_only(struct check *c, const json_t *o, const char *name, const char *only)
{
	const json_t *v = member(o, name);
	size_t at = enter(c, ".%s", name);
	struct slice s = text_of(v);
	char fix[64];
	snprintf(fix, sizeof(fix), "use %s, or leave it out", only);
	if (v != NULL && !json_is_string(v))
		say(c, DNSOPERATOR_UNSUPPORTED_VALUE, NULL, "is not a text", fix);
	else if (v != NULL && !slice_is(s, only))
		say(c, DNSOPERATOR_UNSUPPORTED_VALUE, &s, "is not supported", fix);
	leave(c, at);
}

static void check_answer(struct check *c, const json_t *o, struct api_answer *ret)
{
	static const char fix[] = "write one record as {{ .Name }} 3600 IN AAAA 2001:db8::1";
	const json_t *v = member(o, "answerTemplate");
	struct slice s = text_of(v);
	char why[512];
	size_t at = enter(c, ".answerTemplate");
	if (v == NULL)
		say(c, DNSOPERATOR_INVALID_ANSWER, NULL, "is missing", fix);
	else if (!json_is_string(v))
		say(c, DNSOPERATOR_INVALID_ANSWER, NULL, "is not a text", fix);
	else if (api_answer_parse(s, ret, why, sizeof(why)) < 0)
		say(c, DNSOPERATOR_INVALID_ANSWER, &s, why, fix);
	leave(c, at);
}

static void check_action(struct check *c, const json_t *o, struct dnsoperator_template *ret)
{
	static const char one[] = "exactly one action type must be specified";
	static const char fix[] = "set either returnEmpty or generateResponse";
	const json_t *action = member(o, "action");
	const json_t *empty = member(action, "returnEmpty");
	const json_t *generate = member(action, "generateResponse");
	size_t at = enter(c, ".action");
	check_members(c, action, "returnEmpty generateResponse");
	if (!json_is_object(action) || (empty != NULL) == (generate != NULL)) {
		char why[100];
		snprintf(why, sizeof(why), "has %s: %s", empty != NULL ? "both" : "none", one);
		say(c, DNSOPERATOR_UNSUPPORTED_VALUE, NULL, why, fix);
		leave(c, at);
		return;
	}
	const json_t *which = empty != NULL ? empty : generate;
	ret->empty = empty != NULL;
	enter(c, ret->empty ? ".returnEmpty" : ".generateResponse");
	if (!json_is_object(which)) {
		say(c, DNSOPERATOR_UNSUPPORTED_VALUE, NULL, "is not an object",
		    "write it as {} with its fields");
	} else {
		check_members(c, which, ret->empty ? "rcode" : "answerTemplate rcode");
		check_only(c, which, "rcode", "NOERROR");
		if (!ret->empty)
			check_answer(c, which, &ret->answer);
	}
	leave(c, at);
}

static void check_template(struct check *c, const json_t *o, struct dnsoperator_template *ret)
{
	if (!json_is_object(o)) {
		say(c, DNSOPERATOR_UNSUPPORTED_VALUE, NULL, "is not an object",
		    "write it with name, zones and action");
		return;
	}
	check_name(c, o);
	check_members(c, o, "name zones queryType queryClass action");
	check_zones(c, o, ret);
	check_only(c, o, "queryType", "AAAA");
	check_only(c, o, "queryClass", "IN");
	check_action(c, o, ret);
	ret->name = c->tmpl != NULL ? arena_strdup(c->a, c->tmpl) : "";
}

static void check_list(struct check *c, const json_t *list, struct dnsoperator_templates *ret)
{
	size_t i, n = json_array_size(list);
	json_t *v;
	if (!json_is_array(list))
		say(c, DNSOPERATOR_UNSUPPORTED_VALUE, NULL, "is not a list",
		    "write a list of templates");
	if (n > DNSOPERATOR_TEMPLATES_MAX) {
		char why[64];
		snprintf(why, sizeof(why), "has %zu templates", n);
		say(c, DNSOPERATOR_TOO_MANY_TEMPLATES, NULL, why,
		    "use at most 20: a template may have 256 zones");
		n = DNSOPERATOR_TEMPLATES_MAX;
	}
	ret->v = arena_calloc(c->a, (n + 1) * sizeof(*ret->v));
	json_array_foreach (list, i, v) {
		if (i == n)
			break;
		size_t at = enter(c, "[%zu]", i);
		c->tmpl = NULL;
		check_template(c, v, &ret->v[i]);
		c->tmpl = NULL;
		leave(c, at);
	}
	ret->n = n;
}

int dnsoperator_templates_check(const json_t *list, const char *domain, struct arena *a,
				struct dnsoperator_templates *ret,
				struct dnsoperator_problems *problems)
{
	struct check c = { .problems = problems, .a = a, .domain = domain };
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
	struct dnsoperator_place at = { .field = field };
	dnsoperator_problem_add(problems, DNSOPERATOR_UNSUPPORTED_VALUE, &at, why,
				"write the list of spec.templates into it");
	return ERR_CONFIG;
}
