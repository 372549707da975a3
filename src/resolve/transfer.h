/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Zone transfers on an event loop: IXFR or AXFR over a TCP connection of its own, signed with a TSIG
 * key. Nothing blocks; what comes is bounded in records, bytes and time. Before IXFR the serial is asked
 * for, so that polling a zone that does not change makes no transfers.
 *
 * Records are passed on as they come. The signature of a message may come with a later one (RFC 8945
 * section 5.3.1), so callers keep records aside until `done` reports success. All calls are on the
 * loop's thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dns/message.h"
#include "dns/tsig/tsig.h"
#include "net/addr.h"
#include "net/loop.h"

struct resolve_transfer;
struct resolve_transfer_io;

/* Valid during the call. Names inside rdata are as they came, perhaps compressed. */
struct resolve_transfer_record {
	const uint8_t *owner; /* wire form, at or below the zone */
	uint16_t type;
	uint32_t ttl;
	const uint8_t *rdata;
	uint16_t rdata_n;
	bool is_deletion; /* of IXFR: the zone does not have it any more */
};

enum { RESOLVE_TRANSFER_ERROR_MAX = 320 };

/* Zero it, fill the first part, start it. It stays where it is until done is called or it was
 * cancelled. */
struct resolve_transfer {
	struct loop *loop;
	union net_addr server;		/* with port */
	const uint8_t *zone;		/* wire form; borrowed to the end */
	const struct dns_tsig_key *key; /* borrowed to the end */
	bool incremental; /* IXFR from version `serial`; the server may send the whole */
	uint32_t serial;
	uint64_t timeout_ns; /* for all of it; 0: none */
	size_t max_records, max_bytes;
	/* A record but the zone's SOA. Negative: ends the transfer with that code; it may neither
	 * cancel nor free. */
	int (*record)(struct resolve_transfer *transfer,
		      const struct resolve_transfer_record *record);
	void (*done)(struct resolve_transfer *transfer); /* never from inside start; may free */

	/* For done: 0, or a code with a sentence that names the server. ERR_DENIED: it refused, or
	 * the signature of either side was not accepted; ERR_UNSUPPORTED: not this form of transfer;
	 * ERR_LIMIT, ERR_PARSE, ERR_CLOSED, -ETIMEDOUT or another -errno. */
	int result;
	char error[RESOLVE_TRANSFER_ERROR_MAX];
	uint32_t new_serial; /* with 0 */
	bool is_current; /* with 0: there was nothing new. new_serial may be older than serial */

	struct resolve_transfer_io *io; /* its own */
};

void resolve_transfer_start(struct resolve_transfer *transfer);
/* Forgets it; done is not called. Fine for one that is not running. */
void resolve_transfer_cancel(struct resolve_transfer *transfer);
