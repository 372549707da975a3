/* One look at the DNS object: what servers are to run and what its status should say. A pure
 * function of the object, of what is known about the cluster, of what was accepted the last time
 * and of what servers have answered. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/tree.h"
#include "api/condition.h"
#include "base/compiler.h"
#include "base/strbuf.h"
#include "controller/dnsoperator/facts.h"
#include "controller/dnsoperator/problem.h"
#include "controller/dnsoperator/render.h"

/* What an instance answered when it was asked for the marker; who asks is ask.h. */
struct dnsoperator_instance {
	const char *name; /* of the pod, or ADDR:PORT */
	bool reached;
	const char *hash; /* of the text it runs; "": a text without the marker */
	const char *why;  /* it was not reached, a sentence; NULL: it was silent */
};

struct dnsoperator_instances {
	const struct dnsoperator_instance *v;
	size_t n;
	bool late; /* the wanted text has been there long enough for a server to have read it */
	const char *asked_for; /* the hash of the text that they were asked about, and that is late;
				  NULL: whichever */
};

/* What TemplateConfigurationApplied was last reported for. It must not stay True for a
 * configuration that no server was asked about. */
struct dnsoperator_told {
	int64_t generation; /* of the object; 0: not known */
	const char *hash;   /* of the text; NULL: not known */
	const char *text;   /* the Corefile in the ConfigMap; NULL: there is none */
};

struct dnsoperator_in {
	const json_t *dns;
	const struct dnsoperator_facts *facts;
	const json_t *accepted;			       /* of the last plan; NULL: none */
	const struct dnsoperator_instances *instances; /* NULL: not known yet */
	struct dnsoperator_told told;
};

enum { DNSOPERATOR_VALID, DNSOPERATOR_APPLIED, DNSOPERATOR_WARNING, DNSOPERATOR_CONDITIONS };

struct dnsoperator_condition {
	const char *type;
	enum api_status status;
	const char *reason; /* NULL: nothing is known, what was said before stays */
	char *message;
};

struct dnsoperator_plan {
	/* The Corefile is to be written: the object is managed, and the cluster's domain is known.
	 */
	bool write;
	bool domain_unknown;
	bool verbose; /* spec.operatorLogLevel is not Normal */
	struct strbuf text;
	char hash[DNSOPERATOR_ACK_HASH_MAX];
	/* {"generation": N, "templates": [...]?, "servers": [...]?, "upstreamResolvers": {...}?,
	 * "stored": {...}?}: what to fall back to, and the list that the object has stored
	 * (stored.h); to be kept with the text. Without a text to write only the last changes. */
	json_t *accepted;
	/* The object has a list that the CRD drops: no write of it before `accepted` is saved. */
	bool at_risk;
	json_t *restore; /* the list to put back into spec.templates; NULL: none */
	struct dnsoperator_problems templates; /* what was refused, and why */
	struct dnsoperator_problems servers;   /* reason InvalidServers of Degraded */
	struct strbuf advice;		       /* about upstreams that were accepted */
	struct dnsoperator_condition conditions[DNSOPERATOR_CONDITIONS];
};

/* Why nothing is written without the cluster's domain; sentences. */
extern const char dnsoperator_domain_unknown[];

void dnsoperator_plan_make(const struct dnsoperator_in *in, struct dnsoperator_plan *ret);
/* Servers cannot get the text: `why` is reported by TemplateConfigurationApplied instead of what
 * they answered. Unless the ConfigMap is contested, servers that run the text all the same count.
 */
void dnsoperator_plan_blocked(struct dnsoperator_plan *plan, bool contested, const char *why);
void dnsoperator_plan_done(struct dnsoperator_plan *plan);
