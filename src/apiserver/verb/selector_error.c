/* What is wrong with a label selector, in the server's words: its lexer and its parser, without
 * what they build. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apiserver/verb/selection.h"
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
	enum token t; /* the next one */
	struct slice lit;
	struct strbuf *out;
};

/* What a sign is; T_WORD: it is none. */
static enum token sign_of(char ch)
{
	static const struct {
		char ch;
		enum token t;
	} signs[] = { { '=', T_OPERATOR }, { '<', T_OPERATOR }, { '>', T_OPERATOR }, { '!', T_NOT },
		      { '(', T_OPEN },	   { ')', T_CLOSE },	{ ',', T_COMMA } };
	for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
		if (signs[i].ch == ch)
			return signs[i].t;
	}
	return T_WORD;
}

/* Takes the next token into t and lit. */
static void advance(struct words *words)
{
	struct slice r = words->rest;
	size_t n = 0;
	while (r.n != 0 && ascii_isspace(r.p[0]))
		r = slice_from(r, 1);
	if (r.n == 0) {
		words->t = T_END;
	} else if (sign_of(r.p[0]) != T_WORD) {
		bool two = r.n > 1 && r.p[1] == '=' && (r.p[0] == '=' || r.p[0] == '!');
		n = two ? 2 : 1;
		words->t = two ? T_OPERATOR : sign_of(r.p[0]);
	} else {
		while (n < r.n && sign_of(r.p[n]) == T_WORD && !ascii_isspace(r.p[n]))
			n++;
		words->t = T_WORD;
	}
	words->lit = (struct slice){ r.n != 0 ? r.p : "", n };
	words->rest = slice_from(r, n);
}

/* Always true: found something. */
static bool found(struct words *words, const char *expected)
{
	strbuf_addf(words->out, "found '%.*s'%s", (int)words->lit.n, words->lit.p, expected);
	return true;
}

/* The errors of a rule, on one line: "field: Invalid value: "x": a; b". */
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
	if (words->t != T_END && words->t != T_COMMA) {
		if (words->t != T_WORD)
			return found(words, ", expected: identifier");
		lit = words->lit;
		advance(words);
	}
	return (number && number_error(words, lit)) || value_error(words, key, 0, lit);
}

/* `(a, b)`, behind the operator */
static bool set_error(struct words *words, const char *key)
{
	struct slice values[API_SELECTOR_TERMS_MAX];
	size_t n = 0;
	if (words->t != T_OPEN)
		return found(words, " expected: '('");
	advance(words);
	if (words->t != T_WORD && words->t != T_COMMA &&
	    words->t != T_CLOSE) /* `()` is one empty value */
		return found(words, ", expected: ',', ')' or identifier");
	while (words->t != T_CLOSE) {
		if (words->t == T_COMMA) {
			advance(words);
			continue;
		}
		if (words->t != T_WORD)
			return found(words, ", expected: ',', or identifier");
		if (n < ARRAY_LEN(values))
			values[n++] = words->lit;
		advance(words);
		if (words->t != T_COMMA && words->t != T_CLOSE)
			return found(words, ", expected: ',' or ')'");
	}
	advance(words);
	for (size_t i = 0; i < n; i++) {
		if (value_error(words, key, i, values[i]))
			return true;
	}
	return false;
}

static bool term_error(struct words *words)
{
	bool absent = words->t == T_NOT;
	if (absent)
		advance(words);
	if (words->t != T_WORD)
		return found(words, ", expected: identifier");
	CLEANUP(freep) char *key = xstrndup(words->lit.p, words->lit.n);
	if (rule_error(words, apiserver_check_label_key, "<nil>", key))
		return true;
	advance(words);
	if (absent || words->t == T_END || words->t == T_COMMA)
		return false;
	struct slice op = words->lit;
	bool set = slice_is(op, "in") || slice_is(op, "notin");
	if (!set && words->t != T_OPERATOR)
		return found(words, ", expected: in, notin, =, ==, !=, gt, lt");
	advance(words);
	return set ? set_error(words, key)
		   : exact_error(words, key, op.p[0] == '<' || op.p[0] == '>');
}

bool apiserver_label_selector_error(const char *text, struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT;
	struct words w = { .rest = slice_of(text), .out = &why };
	bool bad = false;
	advance(&w);
	while (!bad && w.t != T_END) {
		if (w.t != T_WORD && w.t != T_NOT) {
			bad = found(&w, ", expected: !, identifier, or 'end of string'");
			break;
		}
		strbuf_reset(&why);
		strbuf_adds(&why, "unable to parse requirement: ");
		bad = term_error(&w);
		if (bad || w.t == T_END)
			break;
		strbuf_reset(&why);
		if (w.t != T_COMMA) {
			bad = found(&w, ", expected: ',' or 'end of string'");
			break;
		}
		advance(&w);
		if (w.t != T_WORD && w.t != T_NOT)
			bad = found(&w, ", expected: identifier after ','");
	}
	if (bad)
		strbuf_add(out, why.s, why.n);
	return bad;
}
