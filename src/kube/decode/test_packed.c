/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A packed object has the tree that the codec of trees makes, and takes far less memory. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/kind.h"
#include "api/meta.h"
#include "base/err.h"
#include "kube/decode/packed.h"
#include "kube/decode/tree.h"

static const char object[] =
	"{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"resourceVersion\":\"5\",\"uid\":\"u\","
	"\"generation\":9007199254740993,\"labels\":{\"l\":\"1\"},\"managedFields\":[{\"manager\":"
	"\"m\"}]},"
	"\"spec\":{\"a\":[1,{\"b\":null,\"c\":0.1}],\"d\":\"\\u00e9\\u0000\\ud83d\\ude00\",\"e\":-"
	"1e300},"
	"\"status\":{\"conditions\":[{\"type\":\"Ready\"}],\"x\":true}}";

static struct kube_obj *decode(struct kube_codec *codec, const char *json)
{
	struct kube_obj *found = NULL;
	assert_int_equal(codec->decode(codec, slice_of(json), &found), 0);
	kube_codec_free(codec);
	return found;
}

static void unpacks_what_a_tree_has(void **state)
{
	static const char *const paths[] = { "spec.d", "status" };
	const struct api_kind *kind = api_kind_find("", "ConfigMap");
	(void)state;
	for (size_t n = 0; n <= ARRAY_LEN(paths); n += ARRAY_LEN(paths)) {
		struct kube_obj *tree = decode(kube_tree_codec(kind, paths, n), object);
		struct kube_obj *packed = decode(kube_packed_codec(kind, paths, n), object);
		json_t *unpacked = kube_packed_unpack(packed);
		assert_true(json_equal(unpacked, kube_tree_of(tree)));
		assert_null(api_get(unpacked, "metadata.managedFields"));
		assert_string_equal(packed->ns, "n");
		assert_string_equal(packed->name, "a");
		assert_string_equal(packed->rv, "5");
		json_decref(unpacked);
		kube_obj_unref(packed);
		kube_obj_unref(tree);
	}
}

static void unpacks_trees_of_the_callers_own(void **state)
{
	(void)state;
	struct kube_obj *packed =
		decode(kube_packed_codec(api_kind_find("", "ConfigMap"), NULL, 0), object);
	json_t *first = kube_packed_unpack(packed), *second = kube_packed_unpack(packed);
	json_object_clear(first);
	kube_obj_unref(packed);
	assert_string_equal(api_get_string(second, "metadata.name"), "a");
	json_decref(first);
	json_decref(second);
}

static void refuses_what_a_tree_refuses(void **state)
{
	static const struct {
		const char *in;
		int code;
	} rows[] = {
		{ "{\"kind\":\"Table\",\"metadata\":{\"name\":\"a\"}}", ERR_TYPE },
		{ "{\"kind\":\"ConfigMap\"}", ERR_PARSE },
		{ "{", ERR_PARSE },
		{ "[]", ERR_PARSE },
	};
	struct kube_codec *codec = kube_packed_codec(api_kind_find("", "ConfigMap"), NULL, 0);
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct kube_obj *found = NULL;
		assert_int_equal(codec->decode(codec, slice_of(rows[i].in), &found), rows[i].code);
		assert_null(found);
	}
	kube_codec_free(codec);
}

static void takes_little_more_than_its_text(void **state)
{
	(void)state;
	struct kube_obj *packed =
		decode(kube_packed_codec(api_kind_find("", "ConfigMap"), NULL, 0), object);
	assert_in_range(malloc_usable_size(packed), 1, sizeof(object) + 192);
	kube_obj_unref(packed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unpacks_what_a_tree_has),
		cmocka_unit_test(unpacks_trees_of_the_callers_own),
		cmocka_unit_test(refuses_what_a_tree_refuses),
		cmocka_unit_test(takes_little_more_than_its_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
