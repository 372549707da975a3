/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the operator remembers between two passes; made by `start`, freed by `stop`. Members without
 * an atomic type or a lock belong to the one worker at a time that holds the DNS object's key. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "controller/shared/own_writes.h"
#include "controller/dnsoperator/plan/marker.h"
#include "controller/dnsoperator/plan/never_learnt.h"
#include "controller/dnsoperator/status/write_delay.h"

struct metrics_series;

/* DNS objects of other names for which an Event was emitted. */
struct dnsoperator_ignored {
	pthread_mutex_t lock; /* guards uids */
	struct map uids;      /* by name; values are owned */
};

/* The networks that the last pass wrote into the Corefile: a node inside of them needs no pass. */
struct dnsoperator_seen_never {
	pthread_mutex_t lock; /* guards the rest */
	bool is_known;	      /* servers learn addresses, and a pass found their networks */
	struct dnsoperator_never now;
};

struct dnsoperator_state {
	struct dnsoperator_seen_never seen_never;
	/* Address families that the last pass found: a node that adds none needs no pass. */
	_Atomic unsigned seen_families;
	_Atomic int platform; /* enum dnsoperator_platform; -1 before the first pass */
	struct dnsoperator_poller *poller;
	struct dnsoperator_gauges *gauges;
	struct dnsoperator_ignored ignored;

	struct own_writes own_writes;
	struct dnsoperator_write_delay delay;
	struct dnsoperator_operands_state *operands;

	/* rival_operator.c */
	_Atomic int rival;	  /* enum dnsoperator_rival; /readyz reads it, too */
	uint64_t rival_logged_ns; /* when that was last logged; 0: never */
	bool rival_event;	  /* and an Event was emitted */
	struct metrics_series *rival_runs;

	bool held_reported;  /* an Event reported that the DNS object is not written */
	bool had_dns;	     /* the DNS object existed since the start */
	uint64_t missing_ns; /* since when it is missing; 0: it exists */

	/* reread_dns.c */
	char crd_rv[32];  /* resourceVersion of the CRD, "" before the first pass */
	uint64_t crd_ns;  /* when that version was seen first */
	bool crd_settled; /* the status has been written since API servers use it */

	/* write_configmaps.c */
	uint64_t corefile_hash; /* of the Corefile last written or found right; 0: none */
	uint64_t unwritten_ns;	/* since when the Corefile cannot be written; 0: it can */
	char unwritten[300];	/* the first error; later ones differ only in their audit ids */
	char contested
		[160]; /* "": no other writer keeps changing the ConfigMaps; else a sentence */

	/* What the status was last written for */
	bool applied_reported; /* TemplateConfigurationApplied was written by this process, */
	char applied_hash[DNSOPERATOR_MARKER_HASH_MAX]; /* for the Corefile with this hash */
	int64_t observed_generation;			/* last written as observedGeneration */
	uint64_t ca_reported;				/* hash of the Events about CA bundles */
	uint64_t servers_reported; /* hash of the Event about refused servers */
};
