/* Which text does a server run? A rendered Corefile ends with a block for DNSOPERATOR_ACK_NAME
 * whose TXT record is the hash of all that stands before it (design 8.3); whoever asks each
 * instance for it knows which of them have applied the text. It works with Fairlead and with
 * CoreDNS. Nothing is written anywhere. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/addr.h"

#define DNSOPERATOR_ACK_NAME "config.fairlead.internal"

enum { DNSOPERATOR_ACK_HASH_MAX = 65 }; /* with its NUL */

/* The hash of a text, for the one who renders it and the one who compares. */
void dnsoperator_ack_hash(const void *text, size_t n, char ret[DNSOPERATOR_ACK_HASH_MAX]);

enum dnsoperator_ack_kind {
	DNSOPERATOR_ACK_TOLD,	     /* `hash` is that of the text it runs */
	DNSOPERATOR_ACK_OTHER,	     /* it answers, but not with a hash: a text without the block */
	DNSOPERATOR_ACK_UNREACHABLE, /* nothing came in time, or nobody is there */
};

struct dnsoperator_ack {
	enum dnsoperator_ack_kind kind;
	char hash[DNSOPERATOR_ACK_HASH_MAX]; /* "" unless told */
	char text[96];			     /* otherwise what happened, for people */
	const char *why; /* a sentence for the status: what to do about it; NULL: none */
};

/* What a reply says; any bytes. */
void dnsoperator_ack_read(const uint8_t *msg, size_t n, struct dnsoperator_ack *ret);

struct dnsoperator_ack_opts {
	uint64_t try_ns; /* how long one question waits; 0: 500 ms */
	unsigned tries;	 /* the last one over TCP; 0: 3 */
};

/* Asks all of them at once, over UDP, again after a silence, and at last over TCP, as it does when
 * a reply is truncated. Blocks, for not much longer than try_ns * tries for each 64 of them. ret[i]
 * is of addr[i]. */
void dnsoperator_ack_pull(const union net_addr *addr, size_t n,
			  const struct dnsoperator_ack_opts *opts, struct dnsoperator_ack *ret);
