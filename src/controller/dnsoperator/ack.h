/* Which Corefile does a server run? A rendered Corefile with templates ends with a block, the
 * marker, whose TXT record is the hash of all that stands before it (OP-T17). The operator
 * asks each server for it. It works with Fairlead and with CoreDNS. Nothing is written anywhere.
 *
 * The marker has two names. The operator asks for the one below the cluster's own domain: a server
 * without the marker answers that from the plugin kubernetes, so the question never leaves the
 * cluster, and no other cluster's marker can answer it. The other name is for people, who need not
 * know the domain. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "net/addr.h"

#define DNSOPERATOR_ACK_NAME "config.fairlead.internal"
/* Below the cluster's domain. One label: a server looks up every depth at which it has zones, and
 * this one is usually that of the name above. */
#define DNSOPERATOR_ACK_LABEL "config-fairlead"

enum {
	DNSOPERATOR_ACK_HASH_MAX = 65,	/* with its NUL */
	DNSOPERATOR_ACK_NAME_MAX = 256, /* likewise */
};

/* The name that the operator asks for: config-fairlead.cluster.local. Below a domain that leaves
 * no room for it there is none, and DNSOPERATOR_ACK_NAME is asked for. */
void dnsoperator_ack_name(const char *domain, char ret[DNSOPERATOR_ACK_NAME_MAX]);

/* The hash of a text, for the one who renders it and the one who compares. */
void dnsoperator_ack_hash(const void *text, size_t len, char ret[DNSOPERATOR_ACK_HASH_MAX]);

enum dnsoperator_ack_kind {
	DNSOPERATOR_ACK_TOLD,	/* `hash` is that of the text it runs */
	DNSOPERATOR_ACK_OTHER,	/* it answers, but not with a hash: a text without the block */
	DNSOPERATOR_ACK_FAILED, /* it answers SERVFAIL, REFUSED or another error: it does not run
				   the wanted marker, and may still have another */
	DNSOPERATOR_ACK_UNREACHABLE, /* nothing came in time, or nobody is there */
	DNSOPERATOR_ACK_PENDING,     /* still being asked (dnsoperator_ack_opts.progress) */
};

struct dnsoperator_ack {
	enum dnsoperator_ack_kind kind;
	char hash[DNSOPERATOR_ACK_HASH_MAX]; /* "" unless told */
	char text[96];			     /* otherwise what happened, for people */
	const char *why; /* a sentence for the status: what to do about it; NULL: none */
};

/* What a reply says; any bytes. */
void dnsoperator_ack_read(const uint8_t *msg, size_t len, struct dnsoperator_ack *ret);

struct dnsoperator_ack_opts {
	const char *name; /* asked for; NULL: DNSOPERATOR_ACK_NAME */
	uint64_t try_ns;  /* how long one question waits; 0: 500 ms */
	unsigned tries;	  /* the last one over TCP; 0: 3 */
	/* Called every DNSOPERATOR_ACK_PROGRESS_NS while some are still silent, so that they do not
	 * hold up the answers of others; NULL: not wanted. */
	void (*progress)(void *ctx);
	void *ctx;
};
#define DNSOPERATOR_ACK_PROGRESS_NS (200 * NS_PER_MS)

/* Asks all of them at once, over UDP, again after a silence, and at last over TCP, as it does when
 * a reply is truncated. Blocks, for not much longer than try_ns * tries for each 256 of them.
 * ret[i] is of addr[i]. */
void dnsoperator_ack_pull(const union net_addr *addr, size_t count,
			  const struct dnsoperator_ack_opts *opts, struct dnsoperator_ack *ret);
