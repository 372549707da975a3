/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How DNS works, in the four conditions that every operator of OpenShift has: Progressing, Available,
 * Upgradeable, Degraded (OP-D4). A pure function of the operands, the DNS object with its present
 * conditions, the plan and the time.
 *
 * On OpenShift the DaemonSets and the Service count. Elsewhere they are not ours: servers that are ready,
 * or that answered, are counted.
 *
 * Two of them change slowly: Progressing and Degraded that have become False stay so for the time
 * of `settle_ns`, whatever happens to single pods meanwhile. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/tree.h"
#include "controller/dnsoperator/plan/configmap_objects.h"
#include "controller/dnsoperator/plan/plan.h"
#include "controller/dnsoperator/status/dns_status.h"
#include "controller/dnsoperator/status/workload.h"

/* Twice the time that a server which is to end still answers. */
#define DNSOPERATOR_SETTLE_NS (40 * NS_PER_S)

/* Servers elsewhere than on OpenShift. */
struct dnsoperator_alive {
	bool known;   /* false: nothing is known yet */
	bool by_pods; /* else by what they answered */
	size_t n, ready;
};

struct dnsoperator_health_in {
	enum dnsoperator_platform platform;
	const json_t *
		dns; /* with the TemplateConfiguration… conditions of this pass, and the others of before */
	const struct dnsoperator_plan *plan;
	const struct dnsoperator_workload *workload; /* OpenShift */
	struct dnsoperator_alive seen;		     /* elsewhere */
	const struct dnsoperator_answers *answers;   /* NULL: not known yet */
	const char *unwritten; /* why the Corefile could not be written for a while; NULL: it was */
	const char *contested; /* a sentence: another writer keeps changing it; NULL: none does */
	uint64_t now_wall_ns, settle_ns; /* 0: DNSOPERATOR_SETTLE_NS */
};

enum {
	DNSOPERATOR_PROGRESSING,
	DNSOPERATOR_AVAILABLE,
	DNSOPERATOR_UPGRADEABLE,
	DNSOPERATOR_DEGRADED,
};
enum { DNSOPERATOR_HEALTH_CONDITIONS = DNSOPERATOR_DEGRADED + 1 };

struct dnsoperator_health {
	struct dnsoperator_condition conditions[DNSOPERATOR_HEALTH_CONDITIONS];
	char unavailable[64]; /* a reason put together */
	uint64_t again_ns;    /* time alone changes something after this; 0: it does not */
};

void dnsoperator_health_make(const struct dnsoperator_health_in *in,
			     struct dnsoperator_health *ret);
void dnsoperator_health_done(struct dnsoperator_health *health);
/* Into the status of the object; true when something besides times changed. */
bool dnsoperator_health_set(json_t *dns, const struct dnsoperator_health *health,
			    const struct dnsoperator_observed *observed, uint64_t now_wall_ns);

/* Of the platform's pods. */
struct dnsoperator_alive dnsoperator_alive_pods(const json_t *pods);
/* Of what they answered; NULL: not known yet. */
struct dnsoperator_alive dnsoperator_alive_answers(const struct dnsoperator_answers *instances);
