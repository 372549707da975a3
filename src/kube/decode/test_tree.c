/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a generic tree keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/kind.h"
#include "api/meta.h"
#include "base/err.h"
#include "kube/decode/tree.h"

static const char object[] =
	"{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"resourceVersion\":\"5\",\"uid\":\"u\","
	"\"generation\":9007199254740993,"
	"\"labels\":{\"l\":\"1\"},\"managedFields\":[{\"manager\":\"m\"}],\"annotations\":{\"x/"
	"y\":\"z\","
	"\"kubectl.kubernetes.io/"
	"last-applied-configuration\":\"{}\"}},\"spec\":{\"a\":[1,{\"b\":null,\"c\":1.5}],\"d\":"
	"\"\\u00e9\"},"
	"\"status\":{\"conditions\":[{\"type\":\"Ready\"}],\"x\":true}}";

static void kept(void **state)
{
	static const struct {
		const char *paths[3];
		const char *out;
	} rows[] = {
		{ { NULL },
		  "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"annotations\":{"
		  "\"x/y\":\"z\"},"
		  "\"generation\":9007199254740993,\"labels\":{\"l\":\"1\"},\"name\":\"a\","
		  "\"namespace\":\"n\","
		  "\"resourceVersion\":\"5\",\"uid\":\"u\"},\"spec\":{\"a\":[1,{\"b\":null,\"c\":1."
		  "5}],\"d\":\"é\"},"
		  "\"status\":{\"conditions\":[{\"type\":\"Ready\"}],\"x\":true}}" },
		{ { "status.conditions", "metadata.labels" },
		  "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"generation\":"
		  "9007199254740993,"
		  "\"labels\":{\"l\":\"1\"},\"name\":\"a\",\"namespace\":\"n\",\"resourceVersion\":"
		  "\"5\",\"uid\":\"u\"},"
		  "\"status\":{\"conditions\":[{\"type\":\"Ready\"}]}}" },
		{ { "metadata", "spec.d" },
		  "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"annotations\":{"
		  "\"x/y\":\"z\"},"
		  "\"generation\":9007199254740993,\"labels\":{\"l\":\"1\"},\"name\":\"a\","
		  "\"namespace\":\"n\","
		  "\"resourceVersion\":\"5\",\"uid\":\"u\"},\"spec\":{\"d\":\"é\"}}" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t n = 0;
		while (n < 3 && rows[i].paths[n] != NULL)
			n++;
		struct kube_codec *c =
			kube_tree_codec(api_kind_find("", "ConfigMap"), rows[i].paths, n);
		struct kube_obj *o = NULL;
		assert_int_equal(c->decode(c, slice_of(object), &o), 0);
		kube_codec_free(c);
		char *text = json_dumps(kube_tree_of(o), JSON_COMPACT | JSON_SORT_KEYS);
		assert_string_equal(text, rows[i].out);
		assert_string_equal(o->ns, "n");
		assert_string_equal(o->name, "a");
		assert_string_equal(o->rv, "5");
		free(text);
		kube_obj_unref(o);
	}
}

static void refused(void **state)
{
	static const struct {
		const char *in;
		int code;
	} rows[] = {
		{ "{\"kind\":\"Table\",\"metadata\":{\"name\":\"a\"}}", ERR_TYPE },
		{ "{\"kind\":\"ConfigMap\"}", ERR_PARSE },
		{ "[{}]", ERR_PARSE },
		{ "3", ERR_PARSE },
		{ "", ERR_PARSE },
		{ "{\"metadata\":{\"name\":\"a\"},\"x\":9223372036854775808}", ERR_RANGE },
		{ "{\"metadata\":{\"name\":\"a\"},\"x\":1e999}", ERR_RANGE },
		{ "{\"metadata\":{\"name\":\"a\"},\"x\":"
		  "1234567890123456789012345678901234567890123456789012345678901234567890}",
		  ERR_RANGE },
		{ "{\"metadata\":{\"name\":\"a\"},\"x\\u0000y\":1}", ERR_PARSE },
		{ "{\"metadata\":{\"name\":\"a\"},\"x\":[1,}", ERR_PARSE },
	};
	struct kube_codec *c = kube_tree_codec(api_kind_find("", "ConfigMap"), NULL, 0);
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct kube_obj *o = NULL;
		int r = c->decode(c, slice_of(rows[i].in), &o);
		if (r != rows[i].code)
			fail_msg("%s: %d", rows[i].in, r);
		assert_null(o);
	}
	kube_codec_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kept),
		cmocka_unit_test(refused),
	};
	return cmocka_run_group_tests_name("kube/tree", tests, NULL, NULL);
}
