/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a generic object, whole and trimmed; a packed one has the same tree, or the same error. */
#include "kube/decode/tree.h"

#include <assert.h>

#include "api/kind.h"
#include "kube/decode/packed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_packed(struct kube_codec *codec, struct slice json, int code,
			 const struct kube_obj *tree)
{
	struct kube_obj *packed = NULL;
	int r = codec->decode(codec, json, &packed);
	assert(r == code);
	if (r == 0) {
		json_t *unpacked = kube_packed_unpack(packed);
		assert(json_equal(unpacked, kube_tree_of(tree)));
		json_decref(unpacked);
		kube_obj_unref(packed);
	}
	kube_codec_free(codec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct slice json = { (const char *)data, n };
	static const char *const paths[] = { "spec.a", "metadata.labels", "status.conditions" };
	for (size_t some = 0; some <= 1; some++) {
		const struct api_kind *kind = api_kind_find("", "ConfigMap");
		size_t len = some * ARRAY_LEN(paths);
		struct kube_codec *c = kube_tree_codec(kind, paths, len);
		struct kube_obj *o = NULL;
		int r = c->decode(c, json, &o);
		check_packed(kube_packed_codec(kind, paths, len), json, r, o);
		if (r == 0)
			kube_obj_unref(o);
		kube_codec_free(c);
	}
	return 0;
}
