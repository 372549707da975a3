/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the controller remembers between two passes of an object: nothing that a restart may not
 * lose. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/tree.h"
#include "base/err_text.h"
#include "base/map.h"
#include "base/rng.h"
#include "controller/controller.h"
#include "controller/dnsrecord/secrets/kept_credentials.h"
#include "controller/dnsrecord/wave.h"
#include "controller/dnsrecord/zone_table.h"

#define DNSRECORD_LOG_AREA "controller/dnsrecord"

struct dnsrecord_memory {
	uint64_t least_version;		 /* of our last write: an older copy is outdated */
	unsigned failures;		 /* one after the other */
	uint64_t due_ns;		 /* when the next try is due; 0: now */
	bool may_be_gone, searches_zone; /* as those of struct dnsrecord_rules */
	/* This process wrote the attempt down and has sent it at most once: a refusal is the whole truth. */
	bool is_fresh;
	/* The provider cannot be reached, and nothing was ever sent: it is read until it answers. */
	bool is_unsent;
	bool has_drifted; /* the provider had lost it: DNS may answer otherwise for a while */
};

/* Of a settled object (probe.h). Only passes of its key use it. */
struct dnsrecord_probe {
	uint64_t due_ns; /* clock_mono_ns; 0: new */
	unsigned tries;	 /* one after the other that say nothing yet */
	bool is_reading; /* DNS answered otherwise, and the provider is being read */
	char *answer;	 /* what DNS answered then */
};

/* Of an object with a dry run (dry_run.h). Only passes of its key use it. */
struct dnsrecord_dry_run {
	uint64_t input; /* what it is for */
	size_t step;	/* being read */
	bool may_be_gone,
		searches_zone; /* as those of struct dnsrecord_rules: a further try of the step */
	json_t *report;	       /* of the steps before; NULL: none was read */
	uint64_t due_ns;       /* it has ended, and is repeated then; 0: it has not */
};

struct dnsrecord_rivals;

struct dnsrecord_state {
	pthread_mutex_t lock;
	struct map by_key;   /* struct dnsrecord_memory of unfinished objects */
	struct map probes;   /* struct dnsrecord_probe of settled objects */
	struct map dry_runs; /* struct dnsrecord_dry_run */
	struct map unserved; /* types that were logged; values are not used */
	struct rng rng;
	struct dnsrecord_wave wave;	   /* has a lock of its own */
	struct dnsrecord_zone_table zones; /* likewise */
	struct dnsrecord_kept kept;	   /* likewise */
	struct dnsrecord_rivals *rivals;   /* likewise */
	atomic_bool is_hold_refused;	   /* the API refused a finalizer of a Secret: logged */
	bool is_listening;		   /* for NOTIFYs; passes of zone_notify.h use it */
};

int dnsrecord_state_start(void **ret_state, struct err_text err);
void dnsrecord_state_stop(void *state);

static inline struct dnsrecord_wave *dnsrecord_wave_of(const struct controller_ctx *ctx)
{
	return &((struct dnsrecord_state *)ctx->state)->wave;
}

static inline struct dnsrecord_kept *dnsrecord_kept_of(const struct controller_ctx *ctx)
{
	return &((struct dnsrecord_state *)ctx->state)->kept;
}

/* A copy; zeroes if there is none. */
struct dnsrecord_memory dnsrecord_recall(const struct controller_ctx *ctx, const char *key);
void dnsrecord_remember(const struct controller_ctx *ctx, const char *key,
			const struct dnsrecord_memory *memory);
void dnsrecord_forget(const struct controller_ctx *ctx, const char *key);

/* The probe of an object, made where there is none; valid until it is dropped. */
struct dnsrecord_probe *dnsrecord_probe_of(const struct controller_ctx *ctx, const char *key);
void dnsrecord_probe_drop(const struct controller_ctx *ctx, const char *key);
/* The dry run of an object, likewise. */
struct dnsrecord_dry_run *dnsrecord_dry_run_of(const struct controller_ctx *ctx, const char *key);
void dnsrecord_dry_run_drop(const struct controller_ctx *ctx, const char *key);
/* True once for each type, of a bounded number: it is to be logged that nobody serves it. */
bool dnsrecord_is_new_type(const struct controller_ctx *ctx, const char *type);
/* Between three quarters and five quarters of a time; anything below it. */
uint64_t dnsrecord_jitter(const struct controller_ctx *ctx, uint64_t time_ns);
uint64_t dnsrecord_spread(const struct controller_ctx *ctx, uint64_t time_ns);

/* The command line's settings. */
struct dnsrecord_settings {
	bool by_request; /* Gardener's annotations ask for work */
	bool is_gardener, is_drop_in, is_dry_run;
	bool any_namespace; /* may have the Secret of any object: there is one administrator */
	const char *classes, *types;  /* NULL: the default */
	uint64_t probe_ns;	      /* between two probes of a record; 0: there are none */
	uint64_t serials_ns;	      /* between two questions for a zone's serial; 0: none */
	const union net_addr *notify; /* where NOTIFYs are received; NULL: nowhere */
};
struct dnsrecord_settings dnsrecord_settings_of(const struct controller_ctx *ctx);

/* The provider of a type; NULL: its objects are not for us (DR-5). */
struct provider;
const struct provider *dnsrecord_find_provider(const struct dnsrecord_settings *settings,
					       const char *type);
/* Is its type that of no provider and of no other controller? Beside Gardener other types are those of its extensions,
 * and who names types (--dnsrecord-types) leaves the others to others; elsewhere it is unserved as long as no
 * controller has reported about it. */
bool dnsrecord_is_unserved(const struct dnsrecord_settings *settings, const json_t *object);
/* The sentence for it, with the types that are served. */
void dnsrecord_explain_unserved(const char *type, struct strbuf *out);
