/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSONPath of printer columns: a path is parsed into steps, which are then followed in the tree.
 * Paths are short, so that they are parsed anew for each call. */
#include "apiserver/codec/jsonpath.h"
#include "apiserver/codec/jsonpath_test.h"

#include <string.h>

#include "api/tree.h"
#include "base/slice.h"

enum step_type { STEP_MEMBER, STEP_INDEX, STEP_ALL, STEP_FILTER };
enum filter_op { FILTER_EQUAL, FILTER_DIFFERENT, FILTER_EXISTS };

struct step {
	enum step_type type;
	struct slice name; /* member, with its backslashes; filter: the path behind @ */
	long index;
	enum filter_op op;
	struct slice value; /* what it is compared with, as written */
};

struct path {
	struct step steps[APISERVER_JSONPATH_STEPS_MAX];
	size_t n;
};

/* --- parsing --- */

static void skip_space(struct slice *text)
{
	while (text->n > 0 && text->p[0] == ' ')
		*text = slice_from(*text, 1);
}

static bool take_text(struct slice *slice, const char *text)
{
	if (!slice_starts(*slice, slice_of(text)))
		return false;
	*slice = slice_from(*slice, strlen(text));
	return true;
}

/* Up to one of `ends`; a backslash escapes the next character. */
static struct slice take_until(struct slice *text, const char *ends)
{
	size_t n = 0;
	while (n < text->n && (text->p[n] == '\0' || strchr(ends, text->p[n]) == NULL))
		n += text->p[n] == '\\' && n + 1 < text->n ? 2 : 1;
	struct slice got = { text->p, n };
	*text = slice_from(*text, n);
	return got;
}

static bool take_quoted(struct slice *text, struct slice *ret)
{
	if (text->n == 0 || (text->p[0] != '\'' && text->p[0] != '"'))
		return false;
	const char end[] = { text->p[0], '\0' };
	*text = slice_from(*text, 1);
	*ret = take_until(text, end);
	return take_text(text, end);
}

static bool take_index(struct slice *text, struct step *ret)
{
	bool negative = take_text(text, "-");
	struct slice digits = take_until(text, "]");
	uint64_t n;
	if (digits.n > 9 || slice_u64(digits, &n) < 0)
		return false;
	*ret = (struct step){ .type = STEP_INDEX, .index = negative ? -(long)n : (long)n };
	return true;
}

/* Behind "?(": `@.a.b == "x")`. */
static bool take_filter(struct slice *text, struct step *ret)
{
	*ret = (struct step){ .type = STEP_FILTER, .op = FILTER_EXISTS };
	skip_space(text);
	if (!take_text(text, "@"))
		return false;
	ret->name = slice_trim(take_until(text, "=!)"));
	if (take_text(text, "=="))
		ret->op = FILTER_EQUAL;
	else if (take_text(text, "!="))
		ret->op = FILTER_DIFFERENT;
	else
		return take_text(text, ")");
	skip_space(text);
	struct slice before = *text, quoted;
	if (take_quoted(text, &quoted)) {
		ret->value = (struct slice){ before.p, quoted.n + 2 };
		skip_space(text);
	} else {
		ret->value = slice_trim(take_until(text, ")"));
	}
	return ret->value.n > 0 && take_text(text, ")");
}

/* Behind "[". */
static bool take_bracket(struct slice *text, struct step *ret)
{
	bool ok;
	if (take_text(text, "*")) {
		*ret = (struct step){ .type = STEP_ALL };
		ok = true;
	} else if (take_text(text, "?(")) {
		ok = take_filter(text, ret);
	} else if (text->n > 0 && (text->p[0] == '\'' || text->p[0] == '"')) {
		*ret = (struct step){ .type = STEP_MEMBER };
		ok = take_quoted(text, &ret->name) && ret->name.n > 0;
	} else {
		ok = take_index(text, ret);
	}
	return ok && take_text(text, "]");
}

static bool take_member(struct slice *text, struct step *ret)
{
	*ret = (struct step){ .type = take_text(text, "*") ? STEP_ALL : STEP_MEMBER };
	if (ret->type == STEP_ALL)
		return true;
	ret->name = take_until(text, ".[");
	return ret->name.n > 0 && memchr(ret->name.p, ' ', ret->name.n) == NULL;
}

static bool read_path(struct slice text, struct path *ret)
{
	ret->n = 0;
	/* With braces, as users of kubectl write it, or without, as in CRDs. */
	if (text.n >= 2 && text.p[0] == '{' && text.p[text.n - 1] == '}')
		text = (struct slice){ text.p + 1, text.n - 2 };
	if (text.n == 0)
		return false;
	take_text(&text, "$");
	while (text.n > 0) {
		if (ret->n == APISERVER_JSONPATH_STEPS_MAX)
			return false;
		struct step *step = &ret->steps[ret->n++];
		*step = (struct step){ .type = STEP_MEMBER };
		bool ok = take_text(&text, "[") ? take_bracket(&text, step)
						: take_text(&text, ".") &&
							  (text.n == 0 || take_member(&text, step));
		if (!ok)
			return false;
	}
	return true;
}

static bool check_path(struct slice text, int depth)
{
	struct path p;
	if (depth > APISERVER_JSONPATH_DEPTH_MAX || !read_path(text, &p))
		return false;
	for (size_t i = 0; i < p.n; i++) {
		const struct step *step = &p.steps[i];
		if (step->name.n > APISERVER_JSONPATH_NAME_MAX_BYTES)
			return false;
		if (step->type == STEP_FILTER && step->name.n > 0 &&
		    !check_path(step->name, depth + 1))
			return false;
	}
	return true;
}

bool apiserver_jsonpath_check(const char *path)
{
	return check_path(slice_of(path), 0);
}

/* --- evaluation --- */

static const json_t *walk_steps(const json_t *value, const struct path *path, size_t at, int depth);

static const json_t *get_member(const json_t *value, struct slice name)
{
	char key[APISERVER_JSONPATH_NAME_MAX_BYTES + 1];
	size_t n = 0;
	for (size_t i = 0; i < name.n && n < sizeof(key) - 1; i++) {
		if (name.p[i] == '\\' && i + 1 < name.n)
			i++;
		key[n++] = name.p[i];
	}
	key[n] = '\0';
	return json_object_get(value, key);
}

static bool is_equal(const json_t *value, struct slice text)
{
	if (text.p[0] == '"' || text.p[0] == '\'')
		return json_is_string(value) &&
		       slice_is((struct slice){ text.p + 1, text.n - 2 }, api_text(value));
	if (json_is_boolean(value))
		return slice_is(text, json_is_true(value) ? "true" : "false");
	if (!json_is_number(value))
		return false;
	json_t *n = json_loadb(text.p, text.n, JSON_DECODE_ANY, NULL);
	bool same = json_is_number(n) && json_number_value(n) == json_number_value(value);
	json_decref(n);
	return same;
}

static bool passes_filter(const json_t *value, const struct step *step, int depth)
{
	struct path p = { .n = 0 };
	if (depth > APISERVER_JSONPATH_DEPTH_MAX ||
	    (step->name.n > 0 && !read_path(step->name, &p)))
		return false;
	const json_t *left = walk_steps(value, &p, 0, depth + 1);
	switch (step->op) {
	case FILTER_EXISTS:
		return left != NULL;
	case FILTER_EQUAL:
		return left != NULL && is_equal(left, step->value);
	case FILTER_DIFFERENT:
		return left != NULL && !is_equal(left, step->value);
	}
	return false;
}

/* The first result among all items or members. */
static const json_t *walk_each(const json_t *value, const struct path *path, size_t at, int depth)
{
	const struct step *step = &path->steps[at];
	const json_t *found = NULL, *item;
	const char *key;
	size_t i;
	json_array_foreach (api_tree(value), i, item) {
		if (step->type == STEP_FILTER && !passes_filter(item, step, depth))
			continue;
		found = walk_steps(item, path, at + 1, depth);
		if (found != NULL)
			return found;
	}
	if (step->type == STEP_FILTER)
		return NULL;
	json_object_foreach (api_tree(value), key, item) {
		found = walk_steps(item, path, at + 1, depth);
		if (found != NULL)
			return found;
	}
	return NULL;
}

static const json_t *walk_steps(const json_t *value, const struct path *path, size_t at, int depth)
{
	for (; value != NULL && at < path->n; at++) {
		const struct step *step = &path->steps[at];
		long n = (long)json_array_size(value);
		switch (step->type) {
		case STEP_MEMBER:
			/* "." alone is the value itself. */
			value = step->name.n > 0 ? get_member(value, step->name) : value;
			break;
		case STEP_INDEX:
			n = step->index < 0 ? n + step->index : step->index;
			value = n >= 0 ? json_array_get(value, (size_t)n) : NULL;
			break;
		case STEP_ALL:
		case STEP_FILTER:
			return walk_each(value, path, at, depth);
		}
	}
	return value;
}

const json_t *apiserver_jsonpath_first(const json_t *object, const char *path)
{
	struct path p;
	return read_path(slice_of(path), &p) ? walk_steps(object, &p, 0, 0) : NULL;
}
