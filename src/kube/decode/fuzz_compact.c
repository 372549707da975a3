/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as each of the trimmed kinds. */
#include "kube/decode/compact.h"
#include "kube/decode/string_pool_test.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct kube_string_pool *t = kube_string_pool_new();
	struct kube_codec *c[] = {
		kube_service_codec(t), kube_slice_codec(t, KUBE_SLICE_ZONES | KUBE_SLICE_TARGETS),
		kube_pod_codec(t),     kube_pod_node_codec(t),
		kube_import_codec(t),  kube_imported_slice_codec(t, KUBE_SLICE_TARGETS)
	};
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		struct kube_obj *o = NULL;
		if (c[i]->decode(c[i], (struct slice){ (const char *)data, n }, &o) == 0)
			kube_obj_unref(o);
		kube_codec_free(c[i]);
	}
	if (kube_string_pool_count(t) != 0)
		abort();
	kube_string_pool_free(t);
	return 0;
}
