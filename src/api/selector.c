/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Selectors: a lexer of words and signs, one term after the other, and matching. */
#include "api/selector.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/text/charset.h"

struct parser {
	struct slice rest;
	struct arena *a;
	struct err_text err;
	size_t room; /* for terms */
};

static int set_error(const struct parser *parser, const char *what, struct slice found)
{
	if (found.n == 0)
		err_text_set(parser->err, "%s, found the end", what);
	else
		err_text_set(parser->err, "%s, found '%.*s'", what, (int)found.n, found.p);
	return ERR_PARSE;
}

/* ---- what a key and a value may be ---- */

static bool is_word(struct slice text, size_t max)
{
	if (text.n == 0 || text.n > max)
		return false;
	for (size_t i = 0; i < text.n; i++) {
		bool alnum = ascii_isdigit(text.p[i]) || ascii_isalpha(text.p[i]);
		bool inner = i != 0 && i + 1 != text.n && charset_has("-_.", text.p[i]);
		if (!alnum && !inner)
			return false;
	}
	return true;
}

enum { LABEL_NAME_MAX = 63, PREFIX_MAX = 253 };

/* An optional DNS name and a slash, then a name of at most 63 characters. */
static bool is_label_key(struct slice text)
{
	ptrdiff_t slash = slice_find(text, '/');
	if (slash < 0)
		return is_word(text, LABEL_NAME_MAX);
	char prefix[PREFIX_MAX + 1];
	if (slash == 0 || slash > PREFIX_MAX)
		return false;
	memcpy(prefix, text.p, (size_t)slash);
	prefix[slash] = '\0';
	return api_is_subdomain_name(prefix) &&
	       is_word(slice_from(text, (size_t)slash + 1), LABEL_NAME_MAX);
}

static bool is_label_value(struct slice text)
{
	return text.n == 0 || is_word(text, LABEL_NAME_MAX);
}

/* ---- words and signs ---- */

static bool is_sign(char ch)
{
	return charset_has("=!(),<>", ch);
}

static struct slice next_token(struct parser *parser)
{
	struct slice r = parser->rest;
	size_t n = 0;
	while (r.n != 0 && ascii_isspace(r.p[0]))
		r = slice_from(r, 1);
	if (r.n == 0) {
		parser->rest = r;
		return (struct slice){ "", 0 };
	}
	if (is_sign(r.p[0]))
		n = r.n > 1 && r.p[1] == '=' && (r.p[0] == '=' || r.p[0] == '!') ? 2 : 1;
	while (n < r.n && !is_sign(r.p[0]) && !is_sign(r.p[n]) && !ascii_isspace(r.p[n]))
		n++;
	parser->rest = slice_from(r, n);
	return (struct slice){ r.p, n };
}

static struct slice peek_token(const struct parser *parser)
{
	struct parser copy = *parser;
	return next_token(&copy);
}

static bool is_word_token(struct slice text)
{
	return text.n != 0 && !is_sign(text.p[0]);
}

static struct api_selector_term *add_term(struct parser *parser, struct api_selector *selector)
{
	if (selector->n == API_SELECTOR_TERMS_MAX) {
		err_text_set(parser->err, "more than %d terms", API_SELECTOR_TERMS_MAX);
		return NULL;
	}
	assert(selector->n < parser->room);
	struct api_selector_term *t = &selector->term[selector->n++];
	memset(t, 0, sizeof(*t));
	return t;
}

static void add_value(struct parser *parser, struct api_selector_term *term, struct slice value)
{
	/* Grown by one: selectors are short. */
	const char **more = arena_alloc(parser->a, (term->n_values + 1) * sizeof(*more));
	if (term->n_values != 0)
		memcpy(more, term->value, term->n_values * sizeof(*more));
	more[term->n_values++] = arena_strndup(parser->a, value.p, value.n);
	term->value = more;
}

/* ---- labels ---- */

static int check_value(const struct parser *parser, struct slice value)
{
	return is_label_value(value) ? 0
				     : set_error(parser,
						 "a label's value is at most 63 letters, digits, "
						 "'-', '_' and '.', beginning and ending with a "
						 "letter or digit",
						 value);
}

/* `(a, b)` */
static int parse_set(struct parser *parser, struct api_selector_term *term)
{
	struct slice tok = next_token(parser);
	if (!slice_is(tok, "("))
		return set_error(parser, "'(' expected", tok);
	for (;;) {
		struct slice v = peek_token(parser);
		v = is_word_token(v) ? next_token(parser) : (struct slice){ "", 0 };
		int r = check_value(parser, v);
		if (r < 0)
			return r;
		add_value(parser, term, v);
		tok = next_token(parser);
		if (slice_is(tok, ")"))
			return 0;
		if (!slice_is(tok, ","))
			return set_error(parser, "',' or ')' expected", tok);
	}
}

static int parse_number(struct parser *parser, struct api_selector_term *term)
{
	struct slice v = next_token(parser);
	uint64_t n;
	struct slice digits = v.n != 0 && v.p[0] == '-' ? slice_from(v, 1) : v;
	if (slice_u64(digits, &n) < 0)
		return set_error(parser, "a whole number expected", v);
	add_value(parser, term, v);
	return 0;
}

static int parse_value(struct parser *parser, struct api_selector_term *term)
{
	struct slice v = peek_token(parser);
	v = is_word_token(v) ? next_token(parser) : (struct slice){ "", 0 };
	int r = check_value(parser, v);
	if (r == 0)
		add_value(parser, term, v);
	return r;
}

static const struct {
	const char *sign;
	enum api_selector_op op;
	int (*values)(struct parser *parser, struct api_selector_term *term);
} label_ops[] = {
	{ "=", API_SEL_IN, parse_value },	{ "==", API_SEL_IN, parse_value },
	{ "!=", API_SEL_NOT_IN, parse_value },	{ "in", API_SEL_IN, parse_set },
	{ "notin", API_SEL_NOT_IN, parse_set }, { ">", API_SEL_GREATER, parse_number },
	{ "<", API_SEL_LESS, parse_number },
};

static int parse_label_term(struct parser *parser, struct api_selector_term *term)
{
	struct slice key = next_token(parser);
	bool not = slice_is(key, "!");
	if (not )
		key = next_token(parser);
	if (!is_word_token(key) || !is_label_key(key))
		return set_error(parser, "a label's key expected", key);
	term->key = arena_strndup(parser->a, key.p, key.n);
	struct slice sign = peek_token(parser);
	if (not || sign.n == 0 || slice_is(sign, ",")) {
		term->op = not ? API_SEL_MISSING : API_SEL_EXISTS;
		return 0;
	}
	sign = next_token(parser);
	for (size_t i = 0; i < ARRAY_LEN(label_ops); i++) {
		if (slice_is(sign, label_ops[i].sign)) {
			term->op = label_ops[i].op;
			return label_ops[i].values(parser, term);
		}
	}
	return set_error(parser, "one of = == != in notin < > expected", sign);
}

static int begin_selector(struct parser *parser, struct api_selector *selector)
{
	*selector = (struct api_selector){ 0 };
	if (parser->rest.n > API_SELECTOR_BYTES_MAX) {
		err_text_set(parser->err, "longer than %d bytes", API_SELECTOR_BYTES_MAX);
		return ERR_LIMIT;
	}
	/* Commas end terms, and values in brackets; NULs end terms of fields, too. */
	parser->room = 1;
	for (size_t i = 0; i < parser->rest.n && parser->room < API_SELECTOR_TERMS_MAX; i++)
		parser->room += parser->rest.p[i] == ',' || parser->rest.p[i] == '\0';
	selector->term = arena_alloc(parser->a, parser->room * sizeof(*selector->term));
	return 0;
}

int api_label_selector_parse(struct slice text, struct arena *arena, struct api_selector *ret,
			     struct err_text err)
{
	struct parser p = { .rest = text, .a = arena, .err = err };
	struct api_selector s;
	int r = begin_selector(&p, &s);
	if (r < 0)
		return r;
	while (r == 0 && peek_token(&p).n != 0) {
		struct api_selector_term *t = add_term(&p, &s);
		if (t == NULL)
			return ERR_LIMIT;
		r = parse_label_term(&p, t);
		struct slice sep = r == 0 ? next_token(&p) : (struct slice){ "", 0 };
		if (r == 0 && sep.n != 0 && !slice_is(sep, ","))
			r = set_error(&p, "',' expected", sep);
		if (r == 0 && sep.n != 0 && peek_token(&p).n == 0)
			r = set_error(&p, "a label's key expected", peek_token(&p));
	}
	if (r == 0)
		*ret = s;
	return r;
}

/* ---- fields ---- */

/* Up to the next character of `stop` that is not escaped. */
static size_t escaped_span(struct slice text, const char *stop)
{
	size_t i = 0;
	for (; i < text.n && strchr(stop, text.p[i]) == NULL; i++) {
		if (text.p[i] == '\\' && i + 1 < text.n)
			i++;
	}
	return i;
}

static int unescape_value(const struct parser *parser, struct slice text, const char **ret)
{
	char *out = arena_alloc(parser->a, text.n + 1);
	size_t n = 0;
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '=' || text.p[i] == ',')
			return set_error(parser, "'=' and ',' of a value need a \\ before them",
					 text);
		if (text.p[i] == '\\') {
			if (i + 1 == text.n || !charset_has("\\,=", text.p[i + 1]))
				return set_error(parser, "only \\\\ \\, and \\= are escapes", text);
			i++;
		}
		out[n++] = text.p[i];
	}
	out[n] = '\0';
	*ret = out;
	return 0;
}

static int parse_field_term(struct parser *parser, struct slice term,
			    struct api_selector_term *selector_term)
{
	size_t n = escaped_span(term, "=!");
	struct slice key = { term.p, n }, sign = slice_from(term, n);
	size_t skip = 1;
	selector_term->op = API_SEL_IN;
	if (sign.n >= 2 && sign.p[1] == '=') {
		selector_term->op = sign.p[0] == '!' ? API_SEL_NOT_IN : API_SEL_IN;
		skip = 2;
	} else if (sign.n == 0 || sign.p[0] != '=') {
		return set_error(parser, "field=value or field!=value expected", term);
	}
	const char *value;
	int r = unescape_value(parser, slice_from(sign, skip), &value);
	if (r < 0)
		return r;
	selector_term->key = arena_strndup(parser->a, key.p, key.n);
	add_value(parser, selector_term, slice_of(value));
	return 0;
}

int api_field_selector_parse(struct slice text, struct arena *arena, struct api_selector *ret,
			     struct err_text err)
{
	struct parser p = { .rest = text, .a = arena, .err = err };
	struct api_selector s;
	int r = begin_selector(&p, &s);
	while (r == 0 && p.rest.n != 0) {
		size_t n = escaped_span(p.rest, ",");
		struct slice term = { p.rest.p, n };
		p.rest = slice_from(p.rest, n + 1);
		if (term.n == 0)
			continue;
		struct api_selector_term *t = add_term(&p, &s);
		if (t == NULL)
			return ERR_LIMIT;
		r = parse_field_term(&p, term, t);
		if (r == 0 && t->key[0] == '\0' && t->value[0][0] == '\0')
			s.n--; /* `=` asks for nothing */
	}
	if (r == 0)
		*ret = s;
	return r;
}

/* ---- matching ---- */

static bool is_among(const struct api_selector_term *term, const char *value)
{
	for (size_t i = 0; i < term->n_values; i++) {
		if (strcmp(term->value[i], value) == 0)
			return true;
	}
	return false;
}

static bool whole_number(const char *text, long long *ret)
{
	char *end;
	struct slice digits = slice_of(text[0] == '-' ? text + 1 : text);
	uint64_t n;
	if (slice_u64(digits, &n) < 0 || n > INT64_MAX)
		return false;
	*ret = strtoll(text, &end, 10);
	return *end == '\0';
}

static bool term_match(const struct api_selector_term *term, const char *value)
{
	long long have, want;
	switch (term->op) {
	case API_SEL_IN:
		return value != NULL && is_among(term, value);
	case API_SEL_NOT_IN:
		return value == NULL || !is_among(term, value);
	case API_SEL_EXISTS:
		return value != NULL;
	case API_SEL_MISSING:
		return value == NULL;
	case API_SEL_GREATER:
	case API_SEL_LESS:
		if (value == NULL || !whole_number(value, &have) ||
		    !whole_number(term->value[0], &want))
			return false;
		return term->op == API_SEL_GREATER ? have > want : have < want;
	}
	return false;
}

bool api_label_selector_match(const struct api_selector *selector, const json_t *labels)
{
	for (size_t i = 0; i < selector->n; i++) {
		const char *v = api_text_or(json_object_get(labels, selector->term[i].key), NULL);
		if (!term_match(&selector->term[i], v))
			return false;
	}
	return true;
}

static bool field_match(const struct api_selector_term *term, const json_t *object)
{
	const json_t *v = api_get(object, term->key);
	char number[32];
	const char *s = api_text_or(v, term->absent != NULL ? term->absent : "");
	if (json_is_boolean(v))
		s = json_is_true(v) ? "true" : "false";
	if (json_is_integer(v)) {
		snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(v));
		s = number;
	}
	return term_match(term, s);
}

bool api_field_selector_match(const struct api_selector *selector, const json_t *object)
{
	for (size_t i = 0; i < selector->n; i++) {
		if (!field_match(&selector->term[i], object))
			return false;
	}
	return true;
}
