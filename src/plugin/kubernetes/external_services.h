/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What Services have outside of the cluster, for `k8s_external`, in the order and with the
 * exceptions of CoreDNS's External: external addresses and load balancers' by SERVICE.NAMESPACE,
 * endpoints of headless Services where that is wanted. */
#pragma once

#include "plugin/kubernetes/conf.h"

/* Of struct plugin_ops. */
const void *kubernetes_interface(const char *name);
