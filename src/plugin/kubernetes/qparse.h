/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a name below a zone of the cluster asks for: CoreDNS's grammar.
 *
 * [ENDPOINT. | _PORT._PROTO. | TOPOLOGY.(pin|prefer)._zone.]SERVICE.NAMESPACE.(svc|pod).ZONE */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "dns/request.h"

enum kubernetes_what {
	KUBERNETES_APEX,      /* the zone itself */
	KUBERNETES_VERSION,   /* dns-version */
	KUBERNETES_NS_HOST,   /* ns.dns */
	KUBERNETES_TYPE,      /* svc or pod alone */
	KUBERNETES_NAMESPACE, /* namespace.(svc|pod) */
	KUBERNETES_SERVICE,
	KUBERNETES_POD,
	KUBERNETES_NONSENSE, /* no such name can exist */
};

/* Parts are slices of the lower-case name; empty when not part of it. */
struct kubernetes_qparse {
	enum kubernetes_what what;
	bool is_pod; /* below pod, with TYPE and NAMESPACE */
	struct slice ns, service, endpoint, port, protocol, cluster;
	/* Topology: labels 0 .. n_zone_labels - 1 of the question, joined by dots; 0: none. */
	unsigned n_zone_labels;
	bool zone_prefer;
};

struct kubernetes_qparse_opts {
	bool multicluster, zonal;
};

/* `zone_labels`: labels of the matched zone, without the root. */
void kubernetes_qparse(const struct dns_qname *qname, unsigned zone_labels,
		       const struct kubernetes_qparse_opts *opts, struct kubernetes_qparse *ret);
