/* A path is read into steps, which are then walked over the tree. Paths are short and their values
 * shallow: nothing is kept between calls. */
#include "apiserver/jsonpath.h"

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

/* --- reading --- */

static void skip_space(struct slice *s)
{
	while (s->n > 0 && s->p[0] == ' ')
		*s = slice_from(*s, 1);
}

static bool take(struct slice *s, const char *text)
{
	if (!slice_starts(*s, slice_of(text)))
		return false;
	*s = slice_from(*s, strlen(text));
	return true;
}

/* Up to one of `ends`; a backslash takes the next character with it. */
static struct slice take_until(struct slice *s, const char *ends)
{
	size_t n = 0;
	while (n < s->n && (s->p[n] == '\0' || strchr(ends, s->p[n]) == NULL))
		n += s->p[n] == '\\' && n + 1 < s->n ? 2 : 1;
	struct slice got = { s->p, n };
	*s = slice_from(*s, n);
	return got;
}

static bool take_quoted(struct slice *s, struct slice *ret)
{
	if (s->n == 0 || (s->p[0] != '\'' && s->p[0] != '"'))
		return false;
	const char end[] = { s->p[0], '\0' };
	*s = slice_from(*s, 1);
	*ret = take_until(s, end);
	return take(s, end);
}

static bool take_index(struct slice *s, struct step *ret)
{
	bool negative = take(s, "-");
	struct slice digits = take_until(s, "]");
	uint64_t n;
	if (digits.n > 9 || slice_u64(digits, &n) < 0)
		return false;
	*ret = (struct step){ .type = STEP_INDEX, .index = negative ? -(long)n : (long)n };
	return true;
}

/* Behind "?(": `@.a.b == "x")`. */
static bool take_filter(struct slice *s, struct step *ret)
{
	*ret = (struct step){ .type = STEP_FILTER, .op = FILTER_EXISTS };
	skip_space(s);
	if (!take(s, "@"))
		return false;
	ret->name = slice_trim(take_until(s, "=!)"));
	if (take(s, "=="))
		ret->op = FILTER_EQUAL;
	else if (take(s, "!="))
		ret->op = FILTER_DIFFERENT;
	else
		return take(s, ")");
	skip_space(s);
	struct slice before = *s, quoted;
	if (take_quoted(s, &quoted)) {
		ret->value = (struct slice){ before.p, quoted.n + 2 };
		skip_space(s);
	} else {
		ret->value = slice_trim(take_until(s, ")"));
	}
	return ret->value.n > 0 && take(s, ")");
}

/* Behind "[". */
static bool take_bracket(struct slice *s, struct step *ret)
{
	bool ok;
	if (take(s, "*")) {
		*ret = (struct step){ .type = STEP_ALL };
		ok = true;
	} else if (take(s, "?(")) {
		ok = take_filter(s, ret);
	} else if (s->n > 0 && (s->p[0] == '\'' || s->p[0] == '"')) {
		*ret = (struct step){ .type = STEP_MEMBER };
		ok = take_quoted(s, &ret->name) && ret->name.n > 0;
	} else {
		ok = take_index(s, ret);
	}
	return ok && take(s, "]");
}

static bool take_member(struct slice *s, struct step *ret)
{
	*ret = (struct step){ .type = take(s, "*") ? STEP_ALL : STEP_MEMBER };
	if (ret->type == STEP_ALL)
		return true;
	ret->name = take_until(s, ".[");
	return ret->name.n > 0 && memchr(ret->name.p, ' ', ret->name.n) == NULL;
}

static bool read_path(struct slice s, struct path *ret)
{
	ret->n = 0;
	/* The whole of it, as kubectl's users write it, or its inside as CRDs do. */
	if (s.n >= 2 && s.p[0] == '{' && s.p[s.n - 1] == '}')
		s = (struct slice){ s.p + 1, s.n - 2 };
	if (s.n == 0)
		return false;
	take(&s, "$");
	while (s.n > 0) {
		if (ret->n == APISERVER_JSONPATH_STEPS_MAX)
			return false;
		struct step *step = &ret->steps[ret->n++];
		*step = (struct step){ .type = STEP_MEMBER };
		bool ok = take(&s, "[") ? take_bracket(&s, step)
					: take(&s, ".") && (s.n == 0 || take_member(&s, step));
		if (!ok)
			return false;
	}
	return true;
}

static bool check(struct slice s, int depth)
{
	struct path p;
	if (depth > APISERVER_JSONPATH_DEPTH_MAX || !read_path(s, &p))
		return false;
	for (size_t i = 0; i < p.n; i++) {
		const struct step *step = &p.steps[i];
		if (step->name.n > APISERVER_JSONPATH_NAME_MAX_BYTES)
			return false;
		if (step->type == STEP_FILTER && step->name.n > 0 && !check(step->name, depth + 1))
			return false;
	}
	return true;
}

bool apiserver_jsonpath_check(const char *path)
{
	return check(slice_of(path), 0);
}

/* --- walking --- */

static const json_t *walk(const json_t *v, const struct path *p, size_t at, int depth);

static const json_t *member(const json_t *v, struct slice name)
{
	char key[APISERVER_JSONPATH_NAME_MAX_BYTES + 1];
	size_t n = 0;
	for (size_t i = 0; i < name.n && n < sizeof(key) - 1; i++) {
		if (name.p[i] == '\\' && i + 1 < name.n)
			i++;
		key[n++] = name.p[i];
	}
	key[n] = '\0';
	return json_object_get(v, key);
}

static bool equals(const json_t *v, struct slice text)
{
	if (text.p[0] == '"' || text.p[0] == '\'')
		return json_is_string(v) &&
		       slice_is((struct slice){ text.p + 1, text.n - 2 }, api_text(v));
	if (json_is_boolean(v))
		return slice_is(text, json_is_true(v) ? "true" : "false");
	if (!json_is_number(v))
		return false;
	json_t *n = json_loadb(text.p, text.n, JSON_DECODE_ANY, NULL);
	bool same = json_is_number(n) && json_number_value(n) == json_number_value(v);
	json_decref(n);
	return same;
}

static bool passes(const json_t *v, const struct step *f, int depth)
{
	struct path p = { .n = 0 };
	if (depth > APISERVER_JSONPATH_DEPTH_MAX || (f->name.n > 0 && !read_path(f->name, &p)))
		return false;
	const json_t *left = walk(v, &p, 0, depth + 1);
	switch (f->op) {
	case FILTER_EXISTS:
		return left != NULL;
	case FILTER_EQUAL:
		return left != NULL && equals(left, f->value);
	case FILTER_DIFFERENT:
		return left != NULL && !equals(left, f->value);
	}
	return false;
}

/* The first of many that leads to something. */
static const json_t *walk_all(const json_t *v, const struct path *p, size_t at, int depth)
{
	const struct step *step = &p->steps[at];
	const json_t *found = NULL, *item;
	const char *key;
	size_t i;
	json_array_foreach (api_tree(v), i, item) {
		if (step->type == STEP_FILTER && !passes(item, step, depth))
			continue;
		found = walk(item, p, at + 1, depth);
		if (found != NULL)
			return found;
	}
	if (step->type == STEP_FILTER)
		return NULL;
	json_object_foreach (api_tree(v), key, item) {
		found = walk(item, p, at + 1, depth);
		if (found != NULL)
			return found;
	}
	return NULL;
}

static const json_t *walk(const json_t *v, const struct path *p, size_t at, int depth)
{
	for (; v != NULL && at < p->n; at++) {
		const struct step *step = &p->steps[at];
		long n = (long)json_array_size(v);
		switch (step->type) {
		case STEP_MEMBER:
			/* "." alone is the thing itself. */
			v = step->name.n > 0 ? member(v, step->name) : v;
			break;
		case STEP_INDEX:
			n = step->index < 0 ? n + step->index : step->index;
			v = n >= 0 ? json_array_get(v, (size_t)n) : NULL;
			break;
		case STEP_ALL:
		case STEP_FILTER:
			return walk_all(v, p, at, depth);
		}
	}
	return v;
}

const json_t *apiserver_jsonpath_first(const json_t *o, const char *path)
{
	struct path p;
	return read_path(slice_of(path), &p) ? walk(o, &p, 0, 0) : NULL;
}
