/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What Gardener says about the shoot that a DNSRecord belongs to (DR-53, DR-48). */
#pragma once

#include <stdbool.h>

struct controller_ctx;

struct dnsrecord_shoot {
	bool is_unknown; /* the namespace is a shoot's, but its Cluster is not there yet */
	bool has_failed; /* nothing is done for it */
	bool is_forced;	 /* its deletion must end */
};

/* All false for a namespace that is not a shoot's. */
struct dnsrecord_shoot dnsrecord_shoot_of(const struct controller_ctx *ctx, const char *ns);
