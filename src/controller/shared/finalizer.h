/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finalizers: an object that has ours is not gone before we have removed what belongs to it. */
#pragma once

#include "base/compiler.h"
#include "kube/client/object.h"

struct kube_conn;
struct kube_status;

/* Adds the finalizer. 0: the object has it now, and what belongs to it may be made. Otherwise nothing
 * was written: ERR_NOTFOUND, there is no such object; ERR_GONE, the API does not accept finalizers
 * for it any more, since its deletion has begun, or an object with another uid than ref->uid has its
 * name by now. Other errors as kube_edit. */
MUST_CHECK int finalizer_add(struct kube_conn *conn, const struct kube_ref *ref,
			     const char *finalizer, struct kube_status *reterr);
/* Removes it; 0 also when the object does not have it, is gone, or another uid than ref->uid has
 * its name: that object's finalizer guards things of its own. */
MUST_CHECK int finalizer_remove(struct kube_conn *conn, const struct kube_ref *ref,
				const char *finalizer, struct kube_status *reterr);
