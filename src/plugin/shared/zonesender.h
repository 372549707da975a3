/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sends a zone over a TCP connection: AXFR, and IXFR by differences where the zone's owner has them,
 * else with the whole zone or nothing but its SOA record. For plugins that serve transfers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "dns/resp.h"
#include "plugin/shared/zonecopier.h"
#include "server/query.h"

struct zonesender;

/* A transfer. The query state of a plugin that sends zones begins with it. */
struct zonesender_state {
	struct zonesender *sender;
	struct zonecopier_job *job;
	bool counted;	   /* among those that run */
	bool pending;	   /* `rr` was not sent yet */
	bool whole;	   /* all but the last SOA record was */
	struct dns_rr rr;  /* the copy's; */
	struct dns_rr soa; /* ours */
	uint64_t records;
};

/* Starts the thread that copies; one for all transfers. Pointers are borrowed; transfers are logged
 * under `area`. */
struct zonesender *zonesender_new(const struct zonecopier_source *source, const char *area,
				  enum log_level level);
/* After the last transfer. NULL is fine. */
void zonesender_free(struct zonesender *sender);

/* The question is an AXFR or IXFR that came over TCP, for a zone of `from`. Returns what serve has
 * to return; the plugin's resume and done are the functions below. */
enum verdict zonesender_start(struct zonesender *sender, struct plugin_inst *self, struct query *q,
			      struct plugin_inst *from);
enum verdict zonesender_resume(struct plugin_inst *self, struct query *q);
void zonesender_done(struct plugin_inst *self, struct query *q);
