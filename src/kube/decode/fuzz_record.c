/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a record with a field of each type. */
#include <stdlib.h>
#include <string.h>

#include "kube/decode/record.h"
#include "kube/decode/string_pool_test.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct all {
	struct kube_record head;
	const char *text, *shared;
	int64_t integer;
	uint64_t time_ns;
	struct kube_record_texts texts, more;
	bool truth;
};

static const struct kube_record_field fields[] = {
	{ "spec.text", KUBE_RECORD_TEXT, offsetof(struct all, text) },
	{ "spec.shared", KUBE_RECORD_SHARED, offsetof(struct all, shared) },
	{ "spec.integer", KUBE_RECORD_INTEGER, offsetof(struct all, integer) },
	{ "spec.truth", KUBE_RECORD_BOOL, offsetof(struct all, truth) },
	{ "spec.time", KUBE_RECORD_TIME, offsetof(struct all, time_ns) },
	{ "spec.texts[]", KUBE_RECORD_TEXTS, offsetof(struct all, texts) },
	{ "spec.more[].name", KUBE_RECORD_TEXTS, offsetof(struct all, more) },
};

static const struct kube_record_kind kind = { "k8s.ovn.org", "DNSName", sizeof(struct all), fields,
					      ARRAY_LEN(fields) };

static size_t read_texts(const struct kube_record_texts *texts)
{
	size_t sum = 0;
	for (uint32_t i = 0; i < texts->n; i++)
		sum += strlen(texts->v[i]);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct kube_string_pool *pool = kube_string_pool_new();
	struct kube_codec *codec = kube_record_codec(&kind, pool);
	struct kube_obj *obj = NULL;
	if (codec->decode(codec, (struct slice){ (const char *)data, n }, &obj) == 0) {
		const struct all *all = (const struct all *)(const void *)obj;
		size_t bytes = strlen(all->text) + strlen(all->shared) + strlen(all->head.uid) +
			       read_texts(&all->texts) + read_texts(&all->more);
		if (bytes > KUBE_RECORD_BYTES_MAX ||
		    all->texts.n + all->more.n > KUBE_RECORD_TEXTS_MAX)
			abort();
		kube_obj_unref(obj);
	}
	kube_codec_free(codec);
	if (kube_string_pool_count(pool) != 0)
		abort();
	kube_string_pool_free(pool);
	return 0;
}
