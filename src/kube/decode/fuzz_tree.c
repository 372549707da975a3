/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a generic object, whole and trimmed. */
#include "kube/decode/tree.h"

#include "api/kind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const char *const paths[] = { "spec.a", "metadata.labels", "status.conditions" };
	for (size_t some = 0; some <= 1; some++) {
		struct kube_codec *c = kube_tree_codec(api_kind_find("", "ConfigMap"), paths,
						       some * ARRAY_LEN(paths));
		struct kube_obj *o = NULL;
		if (c->decode(c, (struct slice){ (const char *)data, n }, &o) == 0)
			kube_obj_unref(o);
		kube_codec_free(c);
	}
	return 0;
}
