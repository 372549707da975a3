/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists in replies, cut into elements, whatever the pieces in which they arrive. */
#include "provider/powerdns/elements_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static int join_element(void *ctx, struct slice element)
{
	struct strbuf *out = ctx;
	strbuf_add_slice(out, element);
	strbuf_addc(out, '|');
	return slice_is(element, "{\"stop\":1}") ? ERR_RANGE : 0;
}

/* The elements, each with a bar after it, or the code. */
static int cut_reply(const char *member, struct slice reply, size_t piece, struct strbuf *out)
{
	struct powerdns_elements elements;
	int r = 0;
	strbuf_reset(out);
	powerdns_elements_init(&elements, member, join_element, out);
	for (size_t at = 0; at < reply.n && r == 0; at += piece)
		r = powerdns_elements_feed(
			&elements, (struct slice){ reply.p + at, MIN(piece, reply.n - at) });
	if (r == 0)
		r = powerdns_elements_finish(&elements);
	powerdns_elements_done(&elements);
	return r;
}

static void replies_in_pieces(void **state)
{
	static const struct {
		const char *member, *reply;
		int result;
		const char *elements;
	} rows[] = {
		{ NULL, "[]", 0, "" },
		{ NULL, " [ {} , {\"a\":[1,{\"b\":2}]} ]\n", 0, "{}|{\"a\":[1,{\"b\":2}]}|" },
		{ NULL, "[{\"a\":\"}]\\\"\\\\\"}]", 0, "{\"a\":\"}]\\\"\\\\\"}|" },
		{ "rrsets", "{\"rrsets\":[{\"x\":1}]}", 0, "{\"x\":1}|" },
		{ "rrsets",
		  "{\"a\":[{\"rrsets\":[{}]}],\"b\":\"rrsets\",\"rrsets\":[{\"x\":1},{}],\"c\":[]}",
		  0, "{\"x\":1}|{}|" },
		{ "rrsets", "{\"rrsets\":[]}", 0, "" },
		/* Not whole, or not the list: an error, never "nothing there". */
		{ "rrsets", "{}", ERR_PARSE, "" },
		{ "rrsets", "{\"rrsets\":{}}", ERR_PARSE, "" },
		{ "rrsets", "{\"rrsets\":\"[]\"}", ERR_PARSE, "" },
		{ "rrsets", "{\"rrsets\":[{}]", ERR_PARSE, "{}|" },
		{ "rrsets", "{\"rrsets\":[{}", ERR_PARSE, "{}|" },
		{ "rrsets", "{\"rrsets\":[{}}", ERR_PARSE, "{}|" },
		{ "rrsets", "[]", ERR_PARSE, "" },
		{ NULL, "{}", ERR_PARSE, "" },
		{ NULL, "", ERR_PARSE, "" },
		{ NULL, "[{}", ERR_PARSE, "{}|" },
		{ NULL, "[[]]", ERR_PARSE, "" },
		{ NULL, "[1]", ERR_PARSE, "" },
		{ NULL, "[\"a\"]", ERR_PARSE, "" },
		{ NULL, "[] x", ERR_PARSE, "" },
		{ NULL, "]", ERR_PARSE, "" },
		{ NULL, "\"[]\"", ERR_PARSE, "" },
		{ NULL, "<html>", ERR_PARSE, "" },
		/* The taker's own. */
		{ NULL, "[{\"stop\":1},{}]", ERR_RANGE, "{\"stop\":1}|" },
	};
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (size_t piece = 1; piece <= strlen(rows[i].reply) + 1; piece++) {
			int r = cut_reply(rows[i].member, slice_of(rows[i].reply), piece, &out);
			if (r != rows[i].result || strcmp(out.s, rows[i].elements) != 0)
				fail_msg("%s in pieces of %zu: %d, '%s'", rows[i].reply, piece, r,
					 out.s);
		}
	}
}

static void limits(void **state)
{
	CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	(void)state;
	for (size_t extra = 0; extra <= 1; extra++) {
		size_t n = POWERDNS_ELEMENT_MAX_BYTES - strlen("{\"\":1}") + extra;
		strbuf_reset(&reply);
		strbuf_adds(&reply, "[{\"");
		for (size_t i = 0; i < n; i++)
			strbuf_addc(&reply, 'x');
		strbuf_adds(&reply, "\":1}]");
		int expected = extra == 0 ? 0 : ERR_LIMIT;
		assert_int_equal(cut_reply(NULL, strbuf_slice(&reply), reply.n, &out), expected);
		assert_int_equal(cut_reply(NULL, strbuf_slice(&reply), 10000, &out), expected);
	}
	for (size_t extra = 0; extra <= 1; extra++) {
		size_t n = POWERDNS_DEPTH_MAX - 2 + extra;
		strbuf_reset(&reply);
		strbuf_adds(&reply, "[{\"a\":");
		for (size_t i = 0; i < n; i++)
			strbuf_addc(&reply, '[');
		for (size_t i = 0; i < n; i++)
			strbuf_addc(&reply, ']');
		strbuf_adds(&reply, "}]");
		assert_int_equal(cut_reply(NULL, strbuf_slice(&reply), 7, &out),
				 extra == 0 ? 0 : ERR_LIMIT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replies_in_pieces),
		cmocka_unit_test(limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
