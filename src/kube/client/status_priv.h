/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Filling a status. */
#pragma once

#include "base/slice.h"
#include "kube/client/status.h"

/* Fills the status from a refusal and returns its code of err.h. */
int kube_status_from(struct kube_status *status, int code, struct slice body, const char *audit_id);
/* Fills it for a request that got no answer. */
void kube_status_set_text(struct kube_status *status, const char *text);
