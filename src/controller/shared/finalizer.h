/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finalizers: an object that has ours is not gone before we have removed what belongs to it. */
#pragma once

#include "base/compiler.h"
#include "kube/client/object.h"

struct kube_conn;
struct kube_status;

/* Adds the finalizer, unless the object is being deleted. 0 also when it has it already; ERR_NOTFOUND:
 * there is no such object. Other errors as kube_edit. */
MUST_CHECK int finalizer_add(struct kube_conn *conn, const struct kube_ref *ref,
			     const char *finalizer, struct kube_status *reterr);
/* Removes it; 0 also when the object does not have it, or is gone. */
MUST_CHECK int finalizer_remove(struct kube_conn *conn, const struct kube_ref *ref,
				const char *finalizer, struct kube_status *reterr);
