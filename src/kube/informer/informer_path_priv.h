/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The requests of a reflector. */
#pragma once

#include "base/strbuf.h"
#include "kube/informer/informer.h"
#include "kube/informer/reflector_plan.h"

struct kube_informer_request {
	const struct kube_informer_conf *conf;
	const struct api_kind *kind; /* in the version to ask for */
	const struct kube_reflector_plan *plan;
	const char *next; /* the token of a further page, or "" */
	unsigned watch_s;
};

/* Appends the path and query of the plan's step. */
void kube_informer_path(struct strbuf *out, const struct kube_informer_request *request);
