/* Inside of the controller: one look at the DNS object, and what is read for it. */
#pragma once

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/compiler.h"
#include "base/map.h"
#include "base/vec.h"
#include "controller/controller.h"
#include "controller/dnsoperator/ask.h"
#include "controller/dnsoperator/maps.h"
#include "controller/dnsoperator/pace.h"
#include "controller/dnsoperator/plan.h"
#include "controller/dnsoperator/workload.h"
#include "kube/client/client.h"

struct metrics_series;

#define AREA	     "controller/dnsoperator" /* of log lines */
#define DNS_NAME     "default"		      /* of the one object that is acted on */
#define SERVERS	     "/servers" /* the key under which servers are asked; no object has it */
#define CRD_NAME     "dnses.operator.openshift.io"
#define OPENSHIFT_NS "openshift-dns"

/* The watches. */
enum {
	DNS,
	NETWORK,
	GATE,
	CIDRS,
	NODES,
	SERVICE,
	CRD,
	PODS_OPENSHIFT,
	PODS_KUBERNETES,
	MAPS_OPENSHIFT,
	TEXT_KUBERNETES,
	ACCEPTED_KUBERNETES,
	CLUSTEROPERATOR,
	OPERAND_DAEMONSETS,
	OPERAND_SERVICES,
	OPERAND_POLICIES,
	CA_SOURCES,
	WATCHES
};
extern const struct controller_watch dnsoperator_watches[WATCHES];

/* Is the original there? ENDING: it was scaled to 0, and its pods have not ended. */
enum dnsoperator_beside { DNSOPERATOR_ALONE, DNSOPERATOR_BESIDE, DNSOPERATOR_ENDING };

/* DNS objects of other names that were told of. */
struct dnsoperator_ignored {
	pthread_mutex_t lock; /* guards uids */
	struct map uids;      /* by name; texts are owned */
};

struct dnsoperator_state {
	/* Which families the last look found: nodes that tell nothing new need no other. */
	_Atomic unsigned seen;
	_Atomic int platform; /* -1: there was no look yet */
	struct dnsoperator_asker *asker;
	struct dnsoperator_gauges *gauges;
	struct dnsoperator_ignored ignored;
	/* Of the one worker at a time that has the key of the DNS object: */
	struct dnsoperator_maps *maps;
	struct dnsoperator_pace pace;
	struct dnsoperator_seen backup; /* the DNS object, since its annotation was written */
	_Atomic int beside;		/* by the last look; /readyz reads it, too */
	uint64_t told_ns;		/* when that was told; 0: it was not */
	struct metrics_series *original_runs;
	bool told_event;    /* by an Event, too */
	bool told_held;	    /* that the object is not written (restore.c) */
	bool had_dns;	    /* there was one since the start */
	uint64_t absent_ns; /* since when there is none any more; 0: there is */
	struct dnsoperator_operands_state *operands;
	char crd_rv[32];       /* the version of the CRD, "" before the first look */
	uint64_t crd_ns;       /* when it was seen first */
	bool crd_settled;      /* and the status has been written since API servers know it */
	uint64_t text_hash;    /* of the Corefile that was last written or found right; 0: none */
	uint64_t unwritten_ns; /* since when the text cannot be written; 0: it can */
	char unwritten[300];   /* and why, in the words of the first time: others have other ids */
	char contested[160];   /* "": nobody else keeps changing the ConfigMaps; else a sentence */
	bool applied_told;     /* TemplateConfigurationApplied was written by this process, */
	char applied_hash[DNSOPERATOR_ACK_HASH_MAX]; /* for the text with this hash */
	int64_t observed;      /* the generation that was last written as observedGeneration */
	uint64_t ca_told;      /* a hash of what was said about CA bundles */
	uint64_t servers_told; /* and about servers that were refused */
};

/* One look at a DNS object. */
struct dnsoperator_look {
	struct controller_ctx *c;
	struct kube_obj *dns;
	bool microshift;
	json_t *text, *accepted; /* the ConfigMaps that are there, or NULL */
	bool accepted_saved;	 /* the one of the plan is there now */
	char domain[DNSOPERATOR_DOMAIN_MAX];
	char cluster_ip[INET6_ADDRSTRLEN];
	struct dnsoperator_facts facts;
	VEC(struct dnsoperator_ca) ca; /* of the facts; texts are owned */
	struct dnsoperator_plan plan;
	struct arena arena;
	const struct dnsoperator_instances *instances; /* in the arena; NULL: not known yet */
	struct dnsoperator_workload workload;	       /* OpenShift */
	bool workload_known;
	bool restored;	     /* the ConfigMap had another writer's text */
	char contested[160]; /* as in the state, by this look */
	bool text_contested; /* the ConfigMap with the text is among them */
};

/* look.c */
/* Never NULL. */
const struct controller_options *dnsoperator_options(const struct controller_ctx *ctx);
/* Another look is due after this time, or sooner. */
void dnsoperator_again(struct controller_ctx *ctx, uint64_t ns);
/* Notes why it failed; returns r. */
int dnsoperator_failed(struct controller_ctx *ctx, int ret, const char *what,
		       const struct kube_status *st);
/* A line of the log, and an Event of the DNS object, if there is one. */
void dnsoperator_tell(const struct dnsoperator_look *pass, bool warning, const char *reason,
		      const char *action, const char *text);
/* Copies, since trees of a store are read by several threads and none of them takes references: all
 * objects of a watch as an array, one of them (NULL: none), the servers' pods. */
json_t *dnsoperator_all_of(const struct controller_ctx *ctx, int watch);
json_t *dnsoperator_object_of(const struct controller_ctx *ctx, int watch, const char *ns,
			      const char *name);
json_t *dnsoperator_pods_of(const struct controller_ctx *ctx, enum dnsoperator_platform platform);
/* What the server has now; *ret is NULL when that is nothing. Negative with c->err. */
MUST_CHECK int dnsoperator_get(struct controller_ctx *ctx, const char *path, const char *what,
			       json_t **ret);

/* ignored.c */
void dnsoperator_ignored_init(struct dnsoperator_ignored *ignored);
void dnsoperator_ignored_done(struct dnsoperator_ignored *ignored);
/* A DNS object of another name than `default` came, changed or went. Any worker. */
void dnsoperator_ignore(struct controller_ctx *ctx, const char *name);

/* learn.c */
unsigned dnsoperator_families_mask(const struct dnsoperator_families *families);
/* NULL in a cluster. */
const struct controller_machine *dnsoperator_machine_of(const struct controller_ctx *ctx);
/* The one that the command line names, or the one that looks like it; network may be NULL. */
enum dnsoperator_platform dnsoperator_platform_of(const struct controller_ctx *ctx,
						  const json_t *network, bool microshift);
/* Another copy of the DNS object, read from the server, while its CRD is new. */
MUST_CHECK int dnsoperator_renew(struct dnsoperator_look *pass);
/* Fills in the facts, from the watches. Negative with c->err when one is not known. */
MUST_CHECK int dnsoperator_learn(struct dnsoperator_look *pass);
/* Those that are there, and the domain that the Corefile in one tells. */
MUST_CHECK int dnsoperator_read_configmaps(struct dnsoperator_look *pass);

/* place.c */
void dnsoperator_place_start(struct dnsoperator_state *state);
/* For /readyz: why nothing is done. */
void dnsoperator_note(void *state, struct strbuf *out);
MUST_CHECK int dnsoperator_find_microshift(struct dnsoperator_look *pass);
/* Two operators must not own one object: 1 when the original runs, and that was told; it is looked
 * at again soon. */
MUST_CHECK int dnsoperator_look_beside(struct dnsoperator_look *pass);

/* operands_apply.c: what runs DNS (operands.h), where it is ours to apply. */
struct dnsoperator_operands_state *dnsoperator_operands_state_new(void);
void dnsoperator_operands_state_free(struct dnsoperator_operands_state *state);
MUST_CHECK int dnsoperator_operands_apply(struct dnsoperator_look *pass);
/* Are they ours to apply, by platform and flag? */
bool dnsoperator_operands_wanted(const struct dnsoperator_look *pass);

/* restore.c */
/* Would a write of the DNS object destroy a list that is saved nowhere? Then false, which is told.
 */
bool dnsoperator_may_write_dns(struct dnsoperator_look *pass);
/* Puts the list of the plan back, if there is one. */
MUST_CHECK int dnsoperator_restore_templates(struct dnsoperator_look *pass);

/* finalizer.c */
/* Puts the finalizer on the object, where it needs one. */
MUST_CHECK int dnsoperator_finalizer_ensure(struct dnsoperator_look *pass);
/* A look at an object that is being deleted: deletes what must go with it, lets it go, and says in
 * its status who else holds it. */
MUST_CHECK int dnsoperator_terminate(struct dnsoperator_look *pass);
