/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which fields of a Namespace are kept. Phases are few words in many objects: they are stored once. */
#include "controller/example/namespaces.h"

static const struct kube_record_field fields[] = {
	{ "status.phase", KUBE_RECORD_SHARED, offsetof(struct example_namespace, phase) },
	{ "metadata.annotations[example.fairlead.dev/lookup]", KUBE_RECORD_TEXT,
	  offsetof(struct example_namespace, lookup) },
};

const struct kube_record_kind example_namespace_kind = {
	.group = "",
	.kind = "Namespace",
	.size = sizeof(struct example_namespace),
	.fields = fields,
	.n_fields = ARRAY_LEN(fields),
};

void example_index_by_phase(const struct kube_obj *obj, kube_index_emit emit, void *ctx)
{
	const char *phase = example_namespace_of(obj)->phase;
	emit(ctx, slice_of(phase[0] != '\0' ? phase : "Active"));
}
