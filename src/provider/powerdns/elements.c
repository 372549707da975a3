/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cutting a reply into the elements of its list. Only brackets and strings are read here; the
 * element's own reader checks the rest. */
#include "provider/powerdns/elements_priv.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"

void powerdns_elements_init(struct powerdns_elements *elements, const char *member,
			    int (*take)(void *ctx, struct slice element), void *ctx)
{
	*elements = (struct powerdns_elements){
		.member = member, .take = take, .ctx = ctx, .partial = STRBUF_INIT
	};
}

void powerdns_elements_done(struct powerdns_elements *elements)
{
	strbuf_done(&elements->partial);
}

static bool is_inside_element(const struct powerdns_elements *elements)
{
	return elements->list_depth != 0 && elements->depth > elements->list_depth;
}

/* Names of the reply's own members are kept until their value is over. */
static void keep_key(struct powerdns_elements *elements, char ch)
{
	if (elements->depth != 1 || elements->list_depth != 0 || elements->is_value)
		return;
	if (elements->key_n < POWERDNS_KEY_MAX_BYTES)
		elements->key[elements->key_n] = ch;
	elements->key_n++;
}

static void pass_string(struct powerdns_elements *elements, char ch)
{
	if (elements->is_escaped) {
		elements->is_escaped = false;
	} else if (ch == '\\') {
		elements->is_escaped = true;
	} else if (ch == '"') {
		elements->in_string = false;
		return;
	}
	keep_key(elements, ch);
}

static bool is_list_here(const struct powerdns_elements *elements)
{
	if (elements->was_list)
		return false;
	if (elements->member == NULL)
		return elements->depth == 0;
	return elements->depth == 1 && elements->is_value &&
	       slice_is((struct slice){ elements->key,
					MIN(elements->key_n, (size_t)POWERDNS_KEY_MAX_BYTES) },
			elements->member);
}

static int open_bracket(struct powerdns_elements *elements, char ch)
{
	bool is_list = ch == '[' && elements->list_depth == 0 && is_list_here(elements);
	bool is_reply = elements->depth == 0 && elements->member != NULL && ch == '{';
	if (elements->depth == POWERDNS_DEPTH_MAX)
		return ERR_LIMIT;
	if (elements->depth == 0 && !is_list && !is_reply)
		return ERR_PARSE;
	if (elements->list_depth != 0 && elements->depth == elements->list_depth && ch != '{')
		return ERR_PARSE;
	elements->depth++;
	if (is_list)
		elements->list_depth = elements->depth;
	if (is_list)
		elements->was_list = true;
	return 0;
}

static int close_bracket(struct powerdns_elements *elements, char ch)
{
	if (elements->depth == 0)
		return ERR_PARSE;
	if (elements->depth == elements->list_depth) {
		if (ch != ']')
			return ERR_PARSE;
		elements->list_depth = 0;
	}
	elements->depth--;
	elements->is_over = elements->depth == 0;
	return 0;
}

/* What may stand between elements, or between members of the reply. */
static int pass_other(struct powerdns_elements *elements, char ch)
{
	if (ascii_isspace(ch))
		return 0;
	if (elements->depth == 0 ||
	    (elements->list_depth != 0 && elements->depth == elements->list_depth && ch != ','))
		return ERR_PARSE;
	if (elements->depth == 1 && elements->list_depth == 0) {
		if (ch == ':')
			elements->is_value = true;
		if (ch == ',') {
			elements->is_value = false;
			elements->key_n = 0;
		}
	}
	return 0;
}

static int pass_char(struct powerdns_elements *elements, char ch)
{
	if (elements->in_string) {
		pass_string(elements, ch);
		return 0;
	}
	if (elements->is_over)
		return ascii_isspace(ch) ? 0 : ERR_PARSE;
	switch (ch) {
	case '"':
		if (elements->depth == 0 || elements->depth == elements->list_depth)
			return ERR_PARSE;
		elements->in_string = true;
		return 0;
	case '{':
	case '[':
		return open_bracket(elements, ch);
	case '}':
	case ']':
		return close_bracket(elements, ch);
	default:
		return pass_other(elements, ch);
	}
}

static int keep_part(struct powerdns_elements *elements, struct slice part)
{
	if (elements->partial.n + part.n > POWERDNS_ELEMENT_MAX_BYTES)
		return ERR_LIMIT;
	strbuf_add_slice(&elements->partial, part);
	return 0;
}

static int take_element(struct powerdns_elements *elements, struct slice last)
{
	int r;
	if (elements->partial.n == 0)
		return last.n > POWERDNS_ELEMENT_MAX_BYTES ? ERR_LIMIT
							   : elements->take(elements->ctx, last);
	r = keep_part(elements, last);
	if (r < 0)
		return r;
	r = elements->take(elements->ctx, strbuf_slice(&elements->partial));
	strbuf_reset(&elements->partial);
	return r;
}

int powerdns_elements_feed(struct powerdns_elements *elements, struct slice bytes)
{
	size_t from = 0; /* of the element in these bytes */
	for (size_t i = 0; i < bytes.n; i++) {
		bool was_inside = is_inside_element(elements);
		int r = pass_char(elements, bytes.p[i]);
		if (r < 0)
			return r;
		bool is_inside = is_inside_element(elements);
		if (!was_inside && is_inside)
			from = i;
		if (!was_inside || is_inside)
			continue;
		r = take_element(elements, (struct slice){ bytes.p + from, i + 1 - from });
		if (r < 0)
			return r;
	}
	if (!is_inside_element(elements) || bytes.n == 0)
		return 0;
	return keep_part(elements, slice_from(bytes, from));
}

int powerdns_elements_finish(const struct powerdns_elements *elements)
{
	return elements->is_over && elements->was_list ? 0 : ERR_PARSE;
}
