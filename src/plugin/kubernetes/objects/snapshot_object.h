/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Objects as lines of a snapshot. They are read again by the decoders of what the API server sends
 * (kube/decode/compact.h), so the form is the API's. */
#pragma once

#include "plugin/kubernetes/objects/snapshot.h"

/* Appends an object's line. */
void kubernetes_snapshot_add(struct strbuf *out, enum kubernetes_kind kind,
			     const struct kube_obj *obj);
