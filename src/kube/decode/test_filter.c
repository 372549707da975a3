/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which events a table of paths lets through. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "kube/decode/filter.h"

static int print(void *ctx, int id, enum kube_json_type type, struct slice text)
{
	static const char marks[] = "\"#tfnk{[}";
	strbuf_addf(ctx, "%d%c%.*s ", id, marks[type], (int)text.n, text.p != NULL ? text.p : "");
	return slice_is(text, "stop") ? -9 : 0;
}

static const struct {
	struct kube_filter_row rows[3];
	const char *in, *out;
	int code;
} table[] = {
	{ { { "a.b", 1, 0 } },
	  "{\"x\":{\"b\":1},\"a\":{\"c\":[1],\"b\":\"v\"},\"b\":2}",
	  "-1{ -1ka -1{ 1kb 1\"v -1} -1} ",
	  0 },
	{ { { "a[].b", 1, 0 }, { "a[]", 2, 0 } },
	  "{\"a\":[{\"b\":1},7,{\"c\":2}]}",
	  "-1{ -1ka -1[ 2{ 1kb 1#1 2} 2#7 2{ 2} -1} -1} ",
	  0 },
	{ { { "l[x.y/z]", 3, 0 } },
	  "{\"l\":{\"x.y/z\":null,\"x\":{\"y/z\":1}}}",
	  "-1{ -1kl -1{ 3kx.y/z 3n -1} -1} ",
	  0 },
	{ { { "l.*", 3, 0 } },
	  "{\"l\":{\"p\":\"q\",\"r\":true}}",
	  "-1{ -1kl -1{ 3kp 3\"q 3kr 3t -1} -1} ",
	  0 },
	{ { { "s", 4, KUBE_FILTER_DEEP } },
	  "{\"s\":{\"a\":[{\"b\":false}]},\"t\":1}",
	  "-1{ 4ks 4{ 4ka 4[ 4{ 4kb 4f 4} 4} 4} -1} ",
	  0 },
	{ { { "", 0, KUBE_FILTER_DEEP }, { "m.f", 0, KUBE_FILTER_DROP }, { "m.n", 5, 0 } },
	  "{\"m\":{\"f\":[{\"x\":1}],\"n\":2,\"o\":[3]},\"p\":{\"f\":4}}",
	  "0{ 0km 0{ 5kn 5#2 0ko 0[ 0#3 0} 0} 0kp 0{ 0kf 0#4 0} 0} ",
	  0 },
	{ { { "a", 1, 0 } }, "{\"a\":\"stop\"}", "-1{ 1ka 1\"stop ", -9 },
	{ { { "a", 1, 0 } }, "{\"a\":1", "-1{ 1ka 1#1 ", ERR_PARSE },
	{ { { "a", 1, 0 } }, "{} {}", "-1{ -1} ", ERR_PARSE },
	{ { { "a", 1, 0 } }, "", "", ERR_PARSE },
	{ { { "a", 1, 0 } }, "{\"b\":\"\xff\"}", "-1{ ", ERR_PARSE },
};

static struct kube_filter *filter_of_row(size_t row)
{
	size_t n = 0;
	while (n < 3 && table[row].rows[n].path != NULL)
		n++;
	return kube_filter_new(table[row].rows, n);
}

static void tables(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct kube_filter *s = filter_of_row(i);
		struct strbuf out = STRBUF_INIT;
		int r = kube_filter_parse(s, slice_of(table[i].in), print, &out);
		if (r != table[i].code || strcmp(out.s, table[i].out) != 0)
			fail_msg("%s: %d, %s", table[i].in, r, out.s);
		strbuf_done(&out);
		kube_filter_free(s);
	}
}

/* The same values with the same ids, and nothing else. */
static void only_scalars(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT, want = STRBUF_INIT;
		for (struct slice rest = slice_of(table[i].out); rest.n != 0;) {
			struct slice word = slice_cut(&rest, ' ');
			if (word.n > 0 &&
			    strchr("{[}k", word.p[strspn(word.p, "-0123456789")]) == NULL)
				strbuf_addf(&want, "%.*s ", (int)word.n, word.p);
		}
		struct kube_filter *s = filter_of_row(i);
		kube_filter_only_scalars(s);
		assert_int_equal(kube_filter_parse(s, slice_of(table[i].in), print, &out),
				 table[i].code);
		assert_string_equal(out.s, want.s);
		kube_filter_free(s);
	}
}

static int nothing(void *ctx, int id, enum kube_json_type type, struct slice text)
{
	(void)ctx, (void)id, (void)type, (void)text;
	return 0;
}

static void too_deep(void **state)
{
	struct kube_filter *s = kube_filter_new(&(struct kube_filter_row){ "a", 0, 0 }, 1);
	struct strbuf b = STRBUF_INIT;
	(void)state;
	for (int i = 0; i < 100000; i++)
		strbuf_addc(&b, '[');
	assert_int_equal(kube_filter_parse(s, strbuf_slice(&b), nothing, NULL), ERR_LIMIT);
	strbuf_done(&b);
	kube_filter_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables),
		cmocka_unit_test(only_scalars),
		cmocka_unit_test(too_deep),
	};
	return cmocka_run_group_tests_name("kube/filter", tests, NULL, NULL);
}
