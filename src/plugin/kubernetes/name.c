/* Names of Services and endpoints as they stand in answers. */
#include <string.h>

#include "plugin/kubernetes/conf.h"

size_t kubernetes_name(const struct kubernetes_name *p, uint8_t out[DNS_NAME_MAX])
{
	const struct slice labels[] = { p->endpoint, p->cluster, p->service, p->ns,
					slice_of(p->pod ? "pod" : "svc") };
	size_t n = 0, zone_n = dns_name_len(p->zone);
	if (p->service.n == 0 || p->ns.n == 0)
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
	memcpy(out + n, p->zone, zone_n);
	return n + zone_n;
}
