/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The DNS names of Services, endpoints and pods. */
#pragma once

#include "plugin/kubernetes/conf.h"

/* [endpoint.][cluster.]service.namespace.(svc|pod).ZONE */
struct kubernetes_name {
	struct slice endpoint, cluster, service, ns;
	bool pod;
	const uint8_t *zone;
};

/* Its length; 0 when there is no such name (too long, or without its parts). */
size_t kubernetes_name(const struct kubernetes_name *name, uint8_t out[DNS_NAME_MAX]);
