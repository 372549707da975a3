/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ExternalName Services: a CNAME record, and what lies behind it. Names of the same zone are
 * followed here, others are asked of the whole server. */
#pragma once

#include "plugin/kubernetes/conf.h"

/* CNAME records of a query so far; in its own memory, so that they outlive a wait. */
enum { KUBERNETES_CHAIN_MAX = 11 };
struct kubernetes_chain {
	size_t n;
	const uint8_t *owner[KUBERNETES_CHAIN_MAX], *target[KUBERNETES_CHAIN_MAX];
};

/* A question for an ExternalName: a CNAME record and where it leads. */
enum verdict kubernetes_serve_external(struct plugin_inst *self, struct query *q, size_t zone,
				       const struct kube_service *service);
enum verdict kubernetes_resume_external(struct plugin_inst *self, struct query *q);
