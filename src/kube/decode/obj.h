/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The head of a decoded object: its name and version, and a count of references. An object never
 * changes after it was decoded. */
#pragma once

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"

struct kube_obj {
	const char *ns; /* "" for objects of the cluster */
	const char *name;
	const char *rv;
	void (*free)(struct kube_obj *obj);
	atomic_uint refs;
	uint32_t at;   /* its place in the store */
	uint32_t mark; /* of the store: when it was last listed */
	bool ignore;   /* a state that its consumer does not want to see: the one before stays */
};

static inline struct kube_obj *kube_obj_ref(struct kube_obj *obj)
{
	unsigned before = atomic_fetch_add_explicit(&obj->refs, 1, memory_order_relaxed);
	assert(before != 0);
	return obj;
}

static inline void kube_obj_unref(struct kube_obj *obj)
{
	if (obj == NULL)
		return;
	unsigned before = atomic_fetch_sub_explicit(&obj->refs, 1, memory_order_acq_rel);
	assert(before != 0);
	if (before == 1)
		obj->free(obj);
}

/* Makes objects of JSON. The functions may be called from one thread at a time per codec; objects
 * may outlive it. */
struct kube_codec {
	/* One object, with one reference. ERR_PARSE, ERR_LIMIT, ERR_RANGE; ERR_TYPE: of another
	 * kind. */
	int (*decode)(struct kube_codec *codec, struct slice json, struct kube_obj **ret);
	void (*free)(struct kube_codec *codec);
};

static inline void kube_codec_free(struct kube_codec *codec)
{
	if (codec != NULL)
		codec->free(codec);
}
