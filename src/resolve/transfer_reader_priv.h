/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the messages of a zone transfer: AXFR (RFC 5936), and IXFR (RFC 1995) in its three forms:
 * differences, the whole zone, or nothing new. No I/O, no signatures. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "resolve/transfer.h"

enum transfer_phase {
	TRANSFER_FIRST,	    /* the zone's SOA record comes */
	TRANSFER_SECOND,    /* the record that decides which form this is */
	TRANSFER_WHOLE,	    /* records of the zone, until the SOA record comes again */
	TRANSFER_DELETIONS, /* of one difference, until its new SOA record */
	TRANSFER_ADDITIONS, /* until the next difference, or the zone's SOA record */
	TRANSFER_COMPLETE,
};

/* Zero it and set the first part. */
struct transfer_reader {
	uint16_t id; /* of the request */
	const uint8_t *zone;
	bool incremental; /* the request was IXFR from `serial` */
	uint32_t serial;
	size_t max_records, max_bytes;
	/* Negative: the transfer ends with that code. */
	int (*record)(void *ctx, const struct resolve_transfer_record *record);
	void *ctx;

	/* When it is complete: */
	uint32_t new_serial;
	bool is_current; /* there is nothing new; no record was passed on */

	/* Its own: */
	enum transfer_phase phase;
	uint32_t at_serial; /* of the difference that is being read */
	size_t records, bytes;
};

/* The next message, without its TSIG record. 0: others follow; 1: complete. Else the transfer is over,
 * with a sentence: ERR_PARSE, ERR_LIMIT, ERR_UNSUPPORTED (the server cannot do this form of transfer),
 * ERR_DENIED (it refuses), or the code of `record`. */
MUST_CHECK int transfer_reader_feed(struct transfer_reader *reader, const uint8_t *msg, size_t len,
				    struct err_text reterr);
