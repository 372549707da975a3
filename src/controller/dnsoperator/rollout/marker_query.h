/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asks DNS servers for the marker (plan/marker.h), the TXT record with the hash of the Corefile that
 * a server runs. Writes nothing anywhere. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "controller/dnsoperator/plan/marker.h"
#include "net/addr.h"

enum dnsoperator_marker_answer_kind {
	DNSOPERATOR_MARKER_FOUND,   /* `hash` is that of the Corefile it runs */
	DNSOPERATOR_MARKER_MISSING, /* it answers without a hash: its Corefile has no marker */
	DNSOPERATOR_MARKER_FAILED, /* it answers with an error: it does not run the wanted marker, but may
				   have another */
	DNSOPERATOR_MARKER_UNREACHABLE, /* no answer in time, or no server */
	DNSOPERATOR_MARKER_PENDING,	/* no answer yet (dnsoperator_marker_query_opts.progress) */
};

struct dnsoperator_marker_answer {
	enum dnsoperator_marker_answer_kind kind;
	char hash[DNSOPERATOR_MARKER_HASH_MAX]; /* "" without one */
	char text[96];				/* otherwise the error, for people */
	const char *why; /* a sentence for the status, with what to do; NULL: none */
};

struct dnsoperator_marker_query_opts {
	const char *name; /* to query; NULL: DNSOPERATOR_MARKER_NAME */
	uint64_t try_ns;  /* how long one question waits; 0: 500 ms */
	unsigned tries;	  /* the last one over TCP; 0: 3 */
	/* Called every DNSOPERATOR_MARKER_PROGRESS_NS while some are still silent, so that they do not
	 * hold up the answers of others; NULL: not wanted. */
	void (*progress)(void *ctx);
	void *ctx;
};
#define DNSOPERATOR_MARKER_PROGRESS_NS (200 * NS_PER_MS)

/* Queries all servers at once, over UDP, again after a timeout, and at last over TCP, also when a
 * reply is truncated. Blocks for little longer than try_ns * tries for each 256 of them. ret[i]
 * belongs to addr[i]. */
void dnsoperator_marker_query(const union net_addr *addr, size_t count,
			      const struct dnsoperator_marker_query_opts *opts,
			      struct dnsoperator_marker_answer *ret);
