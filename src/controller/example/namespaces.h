/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Namespaces, of which a cluster may have very many, in a compact form: a struct in place of a tree. */
#pragma once

#include "kube/decode/record.h"
#include "kube/informer/store.h"

struct example_namespace {
	struct kube_record head;
	const char *phase;
	const char *lookup; /* a name to look up; "" */
};

extern const struct kube_record_kind example_namespace_kind;

/* An index by phase: those that are being deleted need no visit. */
void example_index_by_phase(const struct kube_obj *obj, kube_index_emit emit, void *ctx);

static inline const struct example_namespace *example_namespace_of(const struct kube_obj *obj)
{
	return (const struct example_namespace *)(const void *)obj;
}
