/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Renders accepted configuration as a Corefile.
 *
 * Without templates it is byte for byte what OpenShift's operator writes (OP-1). With them each block
 * but that for CHAOS has the templates; the cluster's names are excluded by a block of their own, as
 * they are from servers for a zone above them, and a block `config.fairlead.internal` is the marker
 * (marker.h). All of it means the same to CoreDNS. Only the stanzas egressfirewall and records, which
 * must be asked for, are for servers of this program alone. */
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "controller/dnsoperator/plan/cluster_facts.h"
#include "controller/dnsoperator/plan/dns_spec.h"
#include "controller/dnsoperator/plan/marker.h"

/* Bytes of a Corefile; a ConfigMap holds a MiB. */
enum { DNSOPERATOR_COREFILE_MAX = 900 << 10 };

struct dnsoperator_render_in {
	const struct dnsoperator_facts *facts;
	const struct dnsoperator_dns *dns;	 /* log levels and cache */
	const struct dnsoperator_routes *routes; /* those that were accepted */
	const struct dnsoperator_templates *templates;
};

/* `hash` gets what the marker answers, "" when there are no templates. */
void dnsoperator_render(const struct dnsoperator_render_in *wanted, struct strbuf *out,
			char hash[DNSOPERATOR_MARKER_HASH_MAX]);
