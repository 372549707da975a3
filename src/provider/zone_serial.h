/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The serial of a zone at its provider, a number that changes with each change of the zone, whoever made it:
 * one cheap call answers whether anything has to be read again. What the publisher itself wrote is counted
 * beside it, so that its own changes can be told from those of others.
 *
 * Everything on the thread of the publisher's loop. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "provider/provider.h"

enum { ZONE_SERIAL_WAIT_S = 10 };

struct publisher_account;
struct zone_serial_call;

struct zone_serial {
	uint32_t serial;
	uint64_t writes; /* calls of this publisher since its start that surely changed the zone */
};

/* In the caller's memory; stays where it is until `done` was called or it was cancelled. Zero it and fill
 * the first part. */
struct zone_serial_request {
	/* The caller's reference lasts until then. Its provider has serials (provider_caps). */
	struct publisher_account *account;
	const char *zone; /* its id */
	/* One that was asked for after this time of the loop's clock will do; UINT64_MAX: it is asked for. */
	uint64_t since_ns;
	void (*done)(struct zone_serial_request *request);

	/* The result. Faults are not tried again. */
	enum provider_code code;
	char error[PROVIDER_ERROR_BYTES];
	struct zone_serial found;

	struct zone_serial_call *call; /* NULL: not under way */
};

/* `done` is called later, by the loop, never from inside. While the publisher itself writes to the zone, and
 * for at most ZONE_SERIAL_WAIT_S, the question waits: own changes could not be distinguished from others. */
void zone_serial_submit(struct zone_serial_request *request);
void zone_serial_cancel(
	struct zone_serial_request *request); /* fine for one that is not under way */

/* Did the zone change from `before` to `now` only by the publisher's own calls? Each that changes something raises
 * the serial by one where servers count so; with other serials the answer is no. A call that may have changed nothing
 * does not count: if it did raise the serial the answer is no, too, which costs a comparison and misses nothing. */
bool zone_serial_is_explained(const struct zone_serial *before, const struct zone_serial *now);

/* ---- for the publisher ---- */

struct publisher_zone;
/* An APPLY of the zone has this result. `surely_changes`: it was not what the zone had already. */
void zone_serial_note_write(struct publisher_zone *zone, enum provider_code code,
			    bool surely_changes);
/* The account is closed: `done` of no request is called. */
void zone_serial_abort_all(struct publisher_account *account);
