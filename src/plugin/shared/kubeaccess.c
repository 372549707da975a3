/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses the way to the API server, in the order in which CoreDNS's plugin kubernetes does. */
#include "plugin/shared/kubeaccess.h"

#include <stddef.h>

#include "kube/client/config.h"

int kubeaccess_open(const struct kubeaccess *access, struct kube_config **ret, struct err_text err)
{
	if (access->kubeconfig != NULL)
		return kube_config_load(access->kubeconfig, access->context, ret, err);
	if (access->endpoint != NULL)
		return kube_config_explicit(access->endpoint, access->cert, access->key, access->ca,
					    ret, err);
	return kube_config_in_cluster(NULL, ret, err);
}
