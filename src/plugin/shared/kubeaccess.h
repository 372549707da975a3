/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which API server a stanza means: its options `kubeconfig`, or `endpoint` and `tls`, or neither of them. */
#pragma once

#include "base/compiler.h"
#include "base/err_text.h"

struct kube_config;

/* The arguments of the options; NULL where they are missing. */
struct kubeaccess {
	const char *kubeconfig, *context;
	const char *endpoint, *cert, *key, *ca;
};

/* `kubeconfig` overrides `endpoint`; without both it is the cluster of the pod. Errors as kube_config_load. */
MUST_CHECK int kubeaccess_open(const struct kubeaccess *access, struct kube_config **ret,
			       struct err_text err);
