/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a snapshot; and as the lines of one that is whole, each object then by its decoder.
 */
#include "plugin/kubernetes/objects/snapshot.h"

#include <stdlib.h>

#include "api/kind.h"
#include "base/err_text.h"
#include "kube/decode/compact.h"
#include "kube/decode/string_pool_test.h"
#include "kube/decode/tree.h"
#include "base/crypto/digest.h"
#include "plugin/kubernetes/objects/snapshot_object.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static bool decode(void *ctx, enum kubernetes_kind kind, struct slice json)
{
	struct kube_codec **codec = ctx;
	struct kube_obj *o = NULL;
	if (codec[kind]->decode(codec[kind], json, &o) == 0) {
		CLEANUP(strbuf_done) struct strbuf again = STRBUF_INIT;
		kubernetes_snapshot_add(&again, kind, o);
		kube_obj_unref(o);
	}
	return true;
}

static void add_digest(struct strbuf *b, struct slice s)
{
	uint8_t d[DIGEST_SHA512_BYTES];
	digest_sha512(s.p, s.n, d);
	for (size_t i = 0; i < 16; i++)
		strbuf_addf(b, "%02x", d[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP(strbuf_done) struct strbuf whole = STRBUF_INIT;
	struct slice bytes = { (const char *)data, n };
	struct kube_string_pool *t = kube_string_pool_new();
	struct kube_codec *codec[KUBERNETES_KINDS] = {
		kube_service_codec(t),
		kube_slice_codec(t, KUBE_SLICE_ZONES | KUBE_SLICE_TARGETS),
		kube_tree_codec(api_kind_find("", "Namespace"), NULL, 0),
		kube_pod_codec(t),
		kube_import_codec(t),
		kube_imported_slice_codec(t, KUBE_SLICE_TARGETS)
	};
	char err[128];
	IGNORE(kubernetes_snapshot_parse(bytes, slice_of("x"), decode, codec, ERR_TEXT(err)));
	strbuf_adds(&whole, "fairlead-kubernetes 1 ");
	add_digest(&whole, slice_of("x"));
	strbuf_addf(&whole, " %zu ", n);
	add_digest(&whole, bytes);
	strbuf_adds(&whole, "\n");
	strbuf_add_slice(&whole, bytes);
	IGNORE(kubernetes_snapshot_parse(strbuf_slice(&whole), slice_of("x"), decode, codec,
					 ERR_TEXT(err)));
	for (size_t i = 0; i < ARRAY_LEN(codec); i++)
		kube_codec_free(codec[i]);
	if (kube_string_pool_count(t) != 0)
		abort();
	kube_string_pool_free(t);
	return 0;
}
