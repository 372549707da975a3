/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Work of the engine for a zone: its serial is read, or the record sets of objects in it are. */
#pragma once

#include <stddef.h>

#include "controller/engine.h"
#include "controller/shared/record_account.h"
#include "provider/publisher.h"
#include "provider/zone_serial.h"

struct dnsrecord_zone_work;

/* One record set, and what the provider has in its place. */
struct dnsrecord_zone_reading {
	struct dnsrecord_zone_work *work;
	struct publisher_request request; /* has the result */
	struct provider_edit *edit;	  /* its set is the one that was asked for */
	char *key;			  /* of the object */
};

struct dnsrecord_zone_work {
	struct engine_work work;
	struct zone_serial_request serial; /* has the result, or why nothing was read */
	struct dnsrecord_zone_reading *readings;
	size_t n_readings; /* 0: the serial is read */

	/* Its own: */
	struct record_account account;
	char *zone_key, *zone;
	size_t n_left; /* readings under way */
};

/* `zone_key`: in the table; `zone`: its id; `since_ns`: as that of struct zone_serial_request. Any thread. */
struct dnsrecord_zone_work *dnsrecord_zone_work_new(const struct publisher_account_conf *account,
						    struct lease *lease, const char *zone_key,
						    const char *zone, uint64_t since_ns);
/* Before it is submitted: a set to be read. */
void dnsrecord_zone_work_add(struct dnsrecord_zone_work *work, const char *key,
			     const struct provider_rrset *set);
static inline struct dnsrecord_zone_work *dnsrecord_zone_work_of(struct engine_work *work)
{
	return CONTAINER_OF(work, struct dnsrecord_zone_work, work);
}
