/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Seconds since the API server's last event of each kind, as a metric: answers may be as old as
 * that. */
#pragma once

#include "kube/informer/informer.h"
#include "plugin/kubernetes/objects/snapshot.h"

struct kubernetes_informer_age;

/* `host` is copied; the informers (NULL: not asked for) outlive it. Any thread. */
struct kubernetes_informer_age *kubernetes_informer_age_new(
	const char *host, struct kube_informer *const informers[KUBERNETES_KINDS]);
/* NULL is fine. */
void kubernetes_informer_age_free(struct kubernetes_informer_age *age);
