/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The server's message for an invalid label selector: a copy of Go's lexer and parser that builds
 * nothing. All *_error functions append the message and return true when they find an error. */
#include "apiserver/request/selector_error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/selector.h"
#include "apiserver/request/selection.h"
#include "apiserver/rules/name_rules.h"
#include "base/mem.h"

enum token {
	T_END,
	T_WORD,
	T_COMMA,
	T_NOT,
	T_OPEN,
	T_CLOSE,
	T_OPERATOR, /* = == != < > */
};

struct words {
	struct slice rest;
	enum token token; /* the next one */
	struct slice lit;
	struct strbuf *out;
};

/* The token of a sign; T_WORD for any other character. */
static enum token token_of(char ch)
{
	static const struct {
		char ch;
		enum token token;
	} signs[] = { { '=', T_OPERATOR }, { '<', T_OPERATOR }, { '>', T_OPERATOR }, { '!', T_NOT },
		      { '(', T_OPEN },	   { ')', T_CLOSE },	{ ',', T_COMMA } };
	for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
		if (signs[i].ch == ch)
			return signs[i].token;
	}
	return T_WORD;
}

/* Reads the next token into `token` and `lit`. */
static void next_token(struct words *words)
{
	struct slice r = words->rest;
	size_t n = 0;
	while (r.n != 0 && ascii_isspace(r.p[0]))
		r = slice_from(r, 1);
	if (r.n == 0) {
		words->token = T_END;
	} else if (token_of(r.p[0]) != T_WORD) {
		bool two = r.n > 1 && r.p[1] == '=' && (r.p[0] == '=' || r.p[0] == '!');
		n = two ? 2 : 1;
		words->token = two ? T_OPERATOR : token_of(r.p[0]);
	} else {
		while (n < r.n && token_of(r.p[n]) == T_WORD && !ascii_isspace(r.p[n]))
			n++;
		words->token = T_WORD;
	}
	words->lit = (struct slice){ r.n != 0 ? r.p : "", n };
	words->rest = slice_from(r, n);
}

/* Always true, so that a caller can return it. */
static bool report_found(struct words *words, const char *expected)
{
	strbuf_addf(words->out, "found '%.*s'%s", (int)words->lit.n, words->lit.p, expected);
	return true;
}

/* All errors of a rule on one line: `field: Invalid value: "x": a; b`. */
static bool rule_error(struct words *words, apiserver_rule rule, const char *field,
		       const char *text)
{
	struct api_errors errs = { 0 };
	rule(&(struct apiserver_field){ .errs = &errs, .field = field }, text);
	bool bad = errs.n != 0;
	CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
	strbuf_adds(&head, "Invalid value: ");
	strbuf_add_quoted(&head, slice_of(text));
	strbuf_adds(&head, ": ");
	for (size_t i = 0; i < errs.n; i++) {
		const char *body = errs.v[i].body;
		if (i == 0)
			strbuf_addf(words->out, "%s: %s", field, body);
		else
			strbuf_addf(words->out, "; %s",
				    strncmp(body, head.s, head.n) == 0 ? body + head.n : body);
	}
	api_errors_done(&errs);
	return bad;
}

static bool value_error(struct words *words, const char *key, size_t index, struct slice lit)
{
	CLEANUP(freep) char *field = xasprintf("values[%zu][%s]", index, key);
	CLEANUP(freep) char *value = xstrndup(lit.p, lit.n);
	return rule_error(words, apiserver_check_label_value, field, value);
}

static bool number_error(struct words *words, struct slice lit)
{
	char text[64], *end;
	snprintf(text, sizeof(text), "%.*s", (int)MIN(lit.n, sizeof(text) - 1), lit.p);
	errno = 0;
	(void)strtoll(text, &end, 10);
	if (lit.n != 0 && lit.n < sizeof(text) && *end == '\0' && errno == 0)
		return false;
	strbuf_adds(words->out, "values[0]: Invalid value: ");
	strbuf_add_quoted(words->out, lit);
	strbuf_adds(words->out, ": for 'Gt', 'Lt' operators, the value must be an integer");
	return true;
}

static bool exact_error(struct words *words, const char *key, bool number)
{
	struct slice lit = { "", 0 };
	if (words->token != T_END && words->token != T_COMMA) {
		if (words->token != T_WORD)
			return report_found(words, ", expected: identifier");
		lit = words->lit;
		next_token(words);
	}
	return (number && number_error(words, lit)) || value_error(words, key, 0, lit);
}

/* `(a, b)`, behind the operator */
static bool set_error(struct words *words, const char *key)
{
	struct slice values[API_SELECTOR_TERMS_MAX];
	size_t n = 0;
	if (words->token != T_OPEN)
		return report_found(words, " expected: '('");
	next_token(words);
	if (words->token != T_WORD && words->token != T_COMMA &&
	    words->token != T_CLOSE) /* `()` is one empty value */
		return report_found(words, ", expected: ',', ')' or identifier");
	while (words->token != T_CLOSE) {
		if (words->token == T_COMMA) {
			next_token(words);
			continue;
		}
		if (words->token != T_WORD)
			return report_found(words, ", expected: ',', or identifier");
		if (n < ARRAY_LEN(values))
			values[n++] = words->lit;
		next_token(words);
		if (words->token != T_COMMA && words->token != T_CLOSE)
			return report_found(words, ", expected: ',' or ')'");
	}
	next_token(words);
	for (size_t i = 0; i < n; i++) {
		if (value_error(words, key, i, values[i]))
			return true;
	}
	return false;
}

static bool term_error(struct words *words)
{
	bool absent = words->token == T_NOT;
	if (absent)
		next_token(words);
	if (words->token != T_WORD)
		return report_found(words, ", expected: identifier");
	CLEANUP(freep) char *key = xstrndup(words->lit.p, words->lit.n);
	if (rule_error(words, apiserver_check_label_key, "<nil>", key))
		return true;
	next_token(words);
	if (absent || words->token == T_END || words->token == T_COMMA)
		return false;
	struct slice op = words->lit;
	bool set = slice_is(op, "in") || slice_is(op, "notin");
	if (!set && words->token != T_OPERATOR)
		return report_found(words, ", expected: in, notin, =, ==, !=, gt, lt");
	next_token(words);
	return set ? set_error(words, key)
		   : exact_error(words, key, op.p[0] == '<' || op.p[0] == '>');
}

bool apiserver_selector_error(const char *text, struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT;
	struct words words = { .rest = slice_of(text), .out = &why };
	bool bad = false;
	next_token(&words);
	while (!bad && words.token != T_END) {
		if (words.token != T_WORD && words.token != T_NOT) {
			bad = report_found(&words, ", expected: !, identifier, or 'end of string'");
			break;
		}
		strbuf_reset(&why);
		strbuf_adds(&why, "unable to parse requirement: ");
		bad = term_error(&words);
		if (bad || words.token == T_END)
			break;
		strbuf_reset(&why);
		if (words.token != T_COMMA) {
			bad = report_found(&words, ", expected: ',' or 'end of string'");
			break;
		}
		next_token(&words);
		if (words.token != T_WORD && words.token != T_NOT)
			bad = report_found(&words, ", expected: identifier after ','");
	}
	if (bad)
		strbuf_add(out, why.s, why.n);
	return bad;
}
