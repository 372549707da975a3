/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The marker shows which Corefile a server runs: a rendered Corefile with templates ends with a
 * block whose TXT record is the hash of all that comes before it. It works with Fairlead and with
 * CoreDNS; rollout/marker_query.h asks servers for it.
 *
 * The marker has two names. The operator asks for the one below the cluster's own domain: a server
 * without the marker answers that from the plugin kubernetes, so the query never leaves the
 * cluster, and no other cluster's marker can answer it. The other name is for people, who need not
 * know the domain. */
#pragma once

#include <stddef.h>

#define DNSOPERATOR_MARKER_NAME "config.fairlead.internal"
/* Below the cluster's domain. One label: a server looks up every depth at which it has zones, and
 * this one is usually that of the name above. */
#define DNSOPERATOR_MARKER_LABEL "config-fairlead"

enum {
	DNSOPERATOR_MARKER_HASH_MAX = 65,  /* with its NUL */
	DNSOPERATOR_MARKER_NAME_MAX = 256, /* likewise */
};

/* The name that the operator asks for: config-fairlead.cluster.local. A domain that is too long
 * for the label has none; DNSOPERATOR_MARKER_NAME is used then. */
void dnsoperator_marker_name(const char *domain, char ret[DNSOPERATOR_MARKER_NAME_MAX]);
/* The hash of a Corefile, as the marker holds it. */
void dnsoperator_marker_hash(const void *text, size_t len, char ret[DNSOPERATOR_MARKER_HASH_MAX]);
