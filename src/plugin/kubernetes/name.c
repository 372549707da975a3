/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds the DNS names of Services, endpoints and pods for answers. */
#include "plugin/kubernetes/name.h"

#include <string.h>

size_t kubernetes_name(const struct kubernetes_name *name, uint8_t out[DNS_NAME_MAX])
{
	const struct slice labels[] = { name->endpoint, name->cluster, name->service, name->ns,
					slice_of(name->pod ? "pod" : "svc") };
	size_t n = 0, zone_n = dns_name_len(name->zone);
	if (name->service.n == 0 || name->ns.n == 0)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
		struct slice l = labels[i];
		if (l.n > DNS_LABEL_MAX || n + 1 + l.n + zone_n > DNS_NAME_MAX)
			return 0;
		if (l.n == 0)
			continue;
		out[n] = (uint8_t)l.n;
		memcpy(out + n + 1, l.p, l.n);
		n += 1 + l.n;
	}
	memcpy(out + n, name->zone, zone_n);
	return n + zone_n;
}
