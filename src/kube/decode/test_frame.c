/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists and watch streams in every kind of pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "kube/decode/frame.h"

static int item(void *ctx, struct slice object)
{
	struct strbuf *out = ctx;
	strbuf_addf(out, "<%.*s>", (int)object.n, object.p);
	return slice_is(object, "{\"stop\":1}") ? -7 : 0;
}

static int frame(void *ctx, struct slice type, struct slice object)
{
	struct strbuf *out = ctx;
	strbuf_addf(out, "%.*s=%.*s;", (int)type.n, type.p, (int)object.n, object.p);
	return 0;
}

static const struct {
	const char *in, *out, *meta;
	int code; /* of feeding, else of the end */
} lists[] = {
	{ "{\"kind\":\"L\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[{\"a\":1},{\"b\":[{}"
	  "]}]}",
	  "<{\"a\":1}><{\"b\":[{}]}>", "{\"resourceVersion\":\"7\"}", 0 },
	{ "{\"items\":[{\"a\":1}],\"metadata\":{\"x\":{}}}\n", "<{\"a\":1}>", "{\"x\":{}}", 0 },
	{ " { \"x\" : [ {\"items\":[{}]} ] , \"items\" : [ ] , \"n\":-1.5e3, \"t\":true }", "", "",
	  0 },
	{ "{\"items\":null,\"metadata\":{}}", "", "{}", 0 },
	{ "{\"items\":[{\"s\":\"}]\\\"{\"} , {\"stop\":2}]}", "<{\"s\":\"}]\\\"{\"}><{\"stop\":2}>",
	  "", 0 },
	{ "{\"a-key-longer-than-any-we-know\":{\"items\":[{}]},\"items\":[{}]}", "<{}>", "", 0 },
	{ "{\"items\\u0041\":[{}],\"items\":[]}", "", "", 0 },
	{ "{\"items\":[{\"stop\":1},{}]}", "<{\"stop\":1}>", "", -7 },
	{ "{\"kind\":\"Status\"}", "", "", ERR_PARSE },
	{ "{\"items\":[{}]", "<{}>", "", ERR_CLOSED },
	{ "{\"items\":[{\"a\"", "", "", ERR_CLOSED },
	{ "", "", "", ERR_CLOSED },
	{ "{\"items\":[1]}", "", "", ERR_PARSE },
	{ "{\"items\":{}}", "", "", ERR_PARSE },
	{ "{\"items\":[],\"items\":[{}]}", "", "", ERR_PARSE },
	{ "{\"metadata\":[]}", "", "", ERR_PARSE },
	{ "[]", "", "", ERR_PARSE },
	{ "{\"items\":[]}{}", "", "", ERR_PARSE },
	{ "{\"a\" 1}", "", "", ERR_PARSE },
	{ "{\"a\":1 \"b\":2}", "", "", ERR_PARSE },
	{ "{\"a\":}", "", "", ERR_PARSE },
	{ "{\"items\":[{} {}]}", "<{}>", "", ERR_PARSE },
	{ "{\"items\":[{},]}", "<{}>", "", ERR_PARSE },
	{ "{\"items\":[,{}]}", "", "", ERR_PARSE },
	{ "{\"items\":[{}],}", "<{}>", "", ERR_PARSE },
	{ "{,\"items\":[]}", "", "", ERR_PARSE },
	{ "{\"items\":[],\"a\":tru}", "", "", ERR_PARSE },
	{ "{\"items\":[],\"a\":01}", "", "", ERR_PARSE },
	{ "{\"items\":[],\"a\":[}}", "", "", ERR_PARSE },
	{ "{\"items\":[],\"a\":\"\\x\"}", "", "", ERR_PARSE },
	{ "{\"items\":[],\"a\x01\":1}", "", "", ERR_PARSE },
	{ "{\"items\":[],\"\xff\":1}", "", "", ERR_PARSE },
	{ "{\"items\":nil}", "", "", ERR_PARSE },
};

static const struct {
	const char *in, *out;
	int code;
} watches[] = {
	{ "{\"type\":\"ADDED\",\"object\":{\"a\":\"\\\"\"}}\n{\"type\":\"BOOKMARK\",\"object\":{}}"
	  "\n",
	  "ADDED={\"a\":\"\\\"\"};BOOKMARK={};", 0 },
	{ "{\"object\":{\"b\":{}},\"x\":{\"y\":[]},\"type\":\"DELETED\"}", "DELETED={\"b\":{}};",
	  0 },
	{ "{\"object\":{\"b\":2},\"type\":\"T\",\"z\":1}{\"type\":\"U\",\"object\":{}}",
	  "T={\"b\":2};U={};", 0 },
	{ " \n", "", 0 },
	{ "{\"type\":\"ADDED\",\"object\":{\"a\"", "", ERR_CLOSED },
	{ "{\"type\":\"ADDED\"}", "", ERR_PARSE },
	{ "{\"object\":{}}", "", ERR_PARSE },
	{ "{\"type\":1,\"object\":{}}", "", ERR_PARSE },
	{ "{\"type\":\"A\",\"object\":3}", "", ERR_PARSE },
	{ "{\"type\":\"A\",\"object\":{},\"object\":{}}", "", ERR_PARSE },
	{ "{\"type\":\"a-type-that-is-far-too-long\",\"object\":{}}", "", ERR_LIMIT },
	{ "{\"type\":\"A\",\"x\":{]},\"object\":{}}", "", ERR_PARSE },
	{ "{\"type\":\"A\\z\",\"object\":{}}", "", ERR_PARSE },
	{ "{\"type\":\"A\",\"object\":{},}", "", ERR_PARSE },
	{ "{\"type\":\"A\",\"object\":{}}{\"object\":{} \"type\":\"A\"}", "A={};", ERR_PARSE },
	{ "HTTP", "", ERR_PARSE },
};

/* In pieces of n bytes, each in memory of its own so that nothing outside is read. */
static int feed(struct kube_frame *c, const char *in, size_t piece)
{
	size_t n = strlen(in);
	for (size_t i = 0; i < n; i += piece) {
		size_t part = MIN(piece, n - i);
		char *copy = test_malloc(part);
		memcpy(copy, in + i, part);
		int r = kube_frame_feed(c, (struct slice){ copy, part });
		test_free(copy);
		if (r < 0)
			return r;
	}
	return kube_frame_end(c);
}

static void list_pieces(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		for (size_t piece = 1; piece <= strlen(lists[i].in) + 1; piece++) {
			struct strbuf out = STRBUF_INIT;
			struct kube_frame c;
			kube_frame_list(&c, item, &out);
			int r = feed(&c, lists[i].in, piece);
			if (r != lists[i].code || strcmp(out.s, lists[i].out) != 0)
				fail_msg("%s by %zu: %d, %s", lists[i].in, piece, r, out.s);
			if (r == 0)
				assert_string_equal(c.meta.s, lists[i].meta);
			kube_frame_done(&c);
			strbuf_done(&out);
		}
	}
}

static void watch_pieces(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(watches); i++) {
		for (size_t piece = 1; piece <= strlen(watches[i].in) + 1; piece++) {
			struct strbuf out = STRBUF_INIT;
			struct kube_frame c;
			kube_frame_watch(&c, frame, &out);
			int r = feed(&c, watches[i].in, piece);
			if (r != watches[i].code || strcmp(out.s, watches[i].out) != 0)
				fail_msg("%s by %zu: %d, %s", watches[i].in, piece, r, out.s);
			kube_frame_done(&c);
			strbuf_done(&out);
		}
	}
}

/* Items of many lengths, with brackets and quotes inside strings: large pieces are looked at 64
 * bytes at a time, small ones byte by byte. */
static void long_items(struct strbuf *in, struct strbuf *want, size_t shift)
{
	struct strbuf o = STRBUF_INIT;
	strbuf_addf(in, "{%*s\"items\":[", (int)shift, "");
	for (int n = 0; n < 150; n++) {
		strbuf_reset(&o);
		strbuf_addf(&o, "{\"a\":[{\"b\":\"%*s}]\"},[[%*s]],{}],\"c\":\"%s\\\"]{\"}", n, "x",
			    n % 70, "0", n % 3 == 0 ? "\\\\" : "[[");
		strbuf_addf(in, "%s%s", n != 0 ? "," : "", o.s);
		strbuf_addf(want, "<%s>", o.s);
	}
	strbuf_adds(in, "]}");
	strbuf_done(&o);
}

static void blocks(void **state)
{
	static const size_t pieces[] = { 1, 7, 63, 64, 65, 127, 1000, 1 << 20 };
	(void)state;
	for (size_t shift = 0; shift < 64; shift++) {
		struct strbuf in = STRBUF_INIT, want = STRBUF_INIT;
		long_items(&in, &want, shift);
		for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
			struct strbuf out = STRBUF_INIT;
			struct kube_frame c;
			kube_frame_list(&c, item, &out);
			assert_int_equal(feed(&c, in.s, pieces[i]), 0);
			assert_string_equal(out.s, want.s);
			kube_frame_done(&c);
			strbuf_done(&out);
		}
		strbuf_done(&in);
		strbuf_done(&want);
	}
}

static int count(void *ctx, struct slice type, struct slice object)
{
	size_t *n = ctx;
	(void)type;
	*n += object.n;
	return 0;
}

/* 1.5 frame limit: just below passes, just above is refused, whole or in pieces. */
static void size_limit(void **state)
{
	static const char head[] = "{\"type\":\"ADDED\",\"object\":{\"a\":\"";
	(void)state;
	for (int above = 0; above < 2; above++) {
		for (int split = 0; split < 2; split++) {
			size_t n = KUBE_FRAME_OBJECT_MAX - strlen("{\"a\":\"\"}") + (size_t)above;
			struct strbuf b = STRBUF_INIT;
			struct kube_frame c;
			size_t got = 0;
			strbuf_adds(&b, head);
			for (size_t i = 0; i < n; i++)
				strbuf_addc(&b, 'x');
			strbuf_adds(&b, "\"}}");
			kube_frame_watch(&c, count, &got);
			size_t first = split ? b.n / 2 : b.n;
			int r = kube_frame_feed(&c, (struct slice){ b.s, first });
			if (r == 0)
				r = kube_frame_feed(&c, (struct slice){ b.s + first, b.n - first });
			assert_int_equal(r, above ? ERR_LIMIT : 0);
			assert_int_equal(got, above ? 0 : KUBE_FRAME_OBJECT_MAX);
			kube_frame_done(&c);
			strbuf_done(&b);
		}
	}
}

static void meta_and_depth_limits(void **state)
{
	struct strbuf b = STRBUF_INIT, out = STRBUF_INIT;
	struct kube_frame c;
	(void)state;
	strbuf_adds(&b, "{\"metadata\":{\"continue\":\"");
	for (size_t i = 0; i < KUBE_FRAME_META_MAX; i++)
		strbuf_addc(&b, 'x');
	strbuf_adds(&b, "\"}}");
	kube_frame_list(&c, item, &out);
	assert_int_equal(kube_frame_feed(&c, strbuf_slice(&b)), ERR_LIMIT);
	kube_frame_done(&c);
	strbuf_reset(&b);
	strbuf_adds(&b, "{\"a\":\"");
	for (size_t i = 0; i < KUBE_FRAME_SHELL_MAX; i++)
		strbuf_addc(&b, 'x');
	kube_frame_list(&c, item, &out);
	assert_int_equal(kube_frame_feed(&c, strbuf_slice(&b)), ERR_LIMIT);
	kube_frame_done(&c);
	for (int above = 0; above < 2; above++) {
		strbuf_reset(&b);
		strbuf_reset(&out);
		strbuf_adds(&b, "{\"items\":[{\"a\":");
		for (int i = 1; i < KUBE_FRAME_DEPTH_MAX + above; i++)
			strbuf_addc(&b, '[');
		for (int i = 1; i < KUBE_FRAME_DEPTH_MAX + above; i++)
			strbuf_addc(&b, ']');
		strbuf_adds(&b, "}]}");
		kube_frame_list(&c, item, &out);
		assert_int_equal(kube_frame_feed(&c, strbuf_slice(&b)), above ? ERR_LIMIT : 0);
		kube_frame_done(&c);
	}
	strbuf_done(&b);
	strbuf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(list_pieces),
		cmocka_unit_test(watch_pieces),
		cmocka_unit_test(blocks),
		cmocka_unit_test(size_limit),
		cmocka_unit_test(meta_and_depth_limits),
	};
	return cmocka_run_group_tests_name("kube/cut", tests, NULL, NULL);
}
