/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plan of a pass: the Corefile that servers should run and the conditions that the status should
 * have. A pure function of the DNS object, the facts about the cluster, the configuration accepted
 * last and the answers of the servers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/condition.h"
#include "api/tree.h"
#include "base/compiler.h"
#include "base/strbuf.h"
#include "controller/dnsoperator/plan/cluster_facts.h"
#include "controller/dnsoperator/plan/problems.h"
#include "controller/dnsoperator/plan/render.h"

/* What a DNS server answered when it was polled (rollout/poller.h). */
struct dnsoperator_answer {
	const char *name; /* of the pod, or ADDR:PORT */
	bool reached;
	const char *hash; /* of the Corefile it runs; "": one without the marker */
	const char *why;  /* a sentence: why it was not reached; NULL: it was silent */
};

struct dnsoperator_answers {
	const struct dnsoperator_answer *v;
	size_t n;
	bool late; /* servers had time enough to load the wanted Corefile */
	const char
		*asked_for; /* hash of the Corefile that they were polled about, and that is late;
				  NULL: any */
};

/* What TemplateConfigurationApplied was last reported for. It must not stay True for a
 * configuration that no server was polled about. */
struct dnsoperator_reported {
	int64_t generation;   /* of the object; 0: not known */
	const char *hash;     /* of the Corefile; NULL: not known */
	const char *corefile; /* in the ConfigMap; NULL: missing */
};

struct dnsoperator_plan_in {
	const json_t *dns;
	const struct dnsoperator_facts *facts;
	const json_t *accepted;			   /* by the last plan; NULL: nothing */
	const struct dnsoperator_answers *answers; /* NULL: not known yet */
	struct dnsoperator_reported reported;
};

enum { DNSOPERATOR_VALID, DNSOPERATOR_APPLIED, DNSOPERATOR_WARNING, DNSOPERATOR_CONDITIONS };

struct dnsoperator_condition {
	const char *type;
	enum api_status status;
	const char *reason; /* NULL: not known; the condition stays as it is */
	char *message;
};

struct dnsoperator_plan {
	/* The Corefile is to be written: the object is managed, and the cluster's domain is known.
	 */
	bool write;
	bool domain_unknown;
	bool verbose; /* spec.operatorLogLevel is not Normal */
	struct strbuf corefile;
	char hash[DNSOPERATOR_MARKER_HASH_MAX];
	/* {"generation": N, "templates": [...]?, "servers": [...]?, "upstreamResolvers": {...}?,
	 * "stored": {...}?, "last": {...}?}: what to fall back to, and the templates that the
	 * object has stored or had last (pruned_templates.h). Without a Corefile to write only these
	 * two change. */
	json_t *accepted;
	/* The CRD drops the object's templates: it must not be written before `accepted` is saved. */
	bool at_risk;
	json_t *restore; /* the list to restore in spec.templates; NULL: none */
	json_t *backup;	 /* the last list of spec.templates that was accepted; NULL: not known */
	struct dnsoperator_problems templates; /* what was refused, and why */
	struct dnsoperator_problems servers;   /* reason InvalidServers of Degraded */
	struct strbuf advice;		       /* about upstreams that were accepted */
	struct strbuf ttl_advice;	       /* about TTLs of templates that caches cut */
	struct dnsoperator_condition conditions[DNSOPERATOR_CONDITIONS];
};

/* The message about an unknown domain: why the Corefile is not written, and what to do. */
extern const char dnsoperator_domain_unknown[];

/* Never fails: what is wrong in the object becomes problems and conditions. Overwrites `ret`,
 * free it with dnsoperator_plan_done. `in` is borrowed for the call only. No I/O; any thread. */
void dnsoperator_plan_make(const struct dnsoperator_plan_in *in, struct dnsoperator_plan *ret);
void dnsoperator_plan_done(struct dnsoperator_plan *plan);
