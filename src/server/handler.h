/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plugin interface: what a plugin is, what it may set in the server at load, and how a query
 * passes through it. A plugin is one folder under plugin/ and one line in plugin/meson.build.
 *
 * Glossary
 *   plugin      the code: one `const struct plugin` table per folder
 *   instance    a plugin's place in one server block (struct plugin_inst), with its configuration;
 *               all stanzas of that plugin in the block belong to one instance
 *   block       a server block of the Corefile: zones, listeners and a chain of instances
 *   chain       the instances of a block in the fixed order of plugin/meson.build
 *   generation  everything built from one reading of the Corefile
 *   verdict     what serve, respond and resume return: what happens next
 *
 * Life of an instance: parse (pure: reads words, fills conf; memory from the generation's arena) →
 * prepare (opens files and resources; with dry, only checks) → commit (the generation is live) or
 * abort → worker_init/worker_done on each worker's thread → teardown (after the last query).
 * Background work (self->tasks, threads of an instance) may use other instances of the generation: all
 * tasks end first, then stop is called for each instance, and then only the first abort or teardown.
 * prepare may fail; then teardown is called for those already prepared and the old generation goes
 * on as if nothing had happened.
 *
 * Life of a query: serve runs down the chain until one does not return V_NEXT; respond then runs
 * for the instances above it, in reverse; after the reply was encoded done runs, in reverse, for
 * each instance whose serve was entered. All of it on one worker thread; nothing may block. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/opt.h"
#include "base/slice.h"
#include "base/srcpos.h"
#include "net/task.h"

struct block;
struct dns_rr;
struct generation;
struct plugin_inst;
struct query;
struct server;
struct setup;
struct worker;
struct zone_copy;

enum verdict {
	V_NEXT,	    /* serve: ask the next plugin. respond: leave the outcome as it is */
	V_ANSWERED, /* q->resp holds the reply */
	V_FAIL,	  /* nothing written: the server replies with q->rcode; q->err is a text or NULL */
	V_DROP,	  /* no reply at all */
	V_WAIT,	  /* query_resume(q) will be called (or was already) on this worker; V_FAIL
		     instead where too many wait */
	V_STREAM, /* q->stream_next is called for message after message (TCP only) */
};

/* What dry checks may and may not do, and where errors go. */
struct prepare {
	bool dry;	      /* `fairlead check`: read files, open no socket, start no thread */
	bool no_metrics_page; /* the process shows its metrics elsewhere */
	struct srcerr *err;
};

/* Optional operations through which plugins meet; NULL: not offered. */
struct plugin_ops {
	/* For `ready`: true when this instance can answer. Any thread. */
	bool (*ready)(struct plugin_inst *self);
	/* For `metadata`: registers labels with query_meta_set. */
	void (*metadata)(struct plugin_inst *self, struct query *q);
	/* For `autopath @name`: the search path of the client, lower-case wire names into out, the
	 * last one the root, for the bare name; their number, 0: none. They live as long as q. */
	int (*search_for_client)(struct plugin_inst *self, struct query *q, const uint8_t **out,
				 size_t max);
	/* For `searchpath`: the same of a list by its id (lower-case). */
	int (*search_by_id)(struct plugin_inst *self, struct query *q, struct slice id,
			    const uint8_t **out, size_t max);
	/* For `transfer`: is a zone of just this name (lower case) served here? On workers. Then
	 * copy_zone is asked for a copy of it, on a thread that may wait and is registered with
	 * base/rcu/rcu.h; NULL when it has none now. */
	bool (*has_zone)(struct plugin_inst *self, const uint8_t *zone);
	struct zone_copy *(*copy_zone)(struct plugin_inst *self, const uint8_t *zone);
	/* Of `transfer`: a zone (lower case) of the block was loaded or has changed. Control
	 * threads only. */
	void (*zone_changed)(struct plugin_inst *self, const uint8_t *zone);
	/* For any other: a table of operations by its name, whose type a header of plugin/shared
	 * declares; NULL: this plugin does not have it. */
	const void *(*offer)(const char *name);
};

struct plugin {
	const char *name;
	const struct opt *opts; /* rows for help and docs, and for setup_options */
	size_t n_opts;
	size_t conf_size;  /* self->conf, zeroed */
	size_t state_size; /* query_state(q, self), zeroed at first use in a query */
	bool renames;	   /* those behind it may be asked for names outside of the block */

	int (*parse)(struct plugin_inst *self, struct setup *setup);
	int (*prepare)(struct plugin_inst *self, struct prepare *prepare);
	void (*commit)(struct plugin_inst *self);
	void (*abort)(struct plugin_inst *self);
	int (*worker_init)(struct plugin_inst *self, struct worker *worker);
	void (*worker_done)(struct plugin_inst *self, struct worker *worker);
	/* Ends the threads that the instance started itself. All instances are still whole. */
	void (*stop)(struct plugin_inst *self);
	void (*teardown)(struct plugin_inst *self);

	/* Called for each query of a client that was routed to this block, before any serve, so
	 * that it can load what it will need into the CPU's cache. */
	void (*announce)(struct plugin_inst *self, struct query *q);
	enum verdict (*serve)(struct plugin_inst *self, struct query *q);
	/* Instead of serve and done, for the zone that the instance answers itself (block_conf) and for
	 * nothing else: other queries pay nothing for it. Both or none. */
	enum verdict (*serve_own_zone)(struct plugin_inst *self, struct query *q);
	void (*done_own_zone)(struct plugin_inst *self, struct query *q);
	enum verdict (*respond)(struct plugin_inst *self, struct query *q);
	enum verdict (*resume)(struct plugin_inst *self, struct query *q);
	/* V_WAIT was refused, and the query fails: query_resume is not to be called by what was
	 * started. NULL where only query_resume_at and sub-queries would have called it. */
	void (*cancel)(struct plugin_inst *self, struct query *q);
	void (*done)(struct plugin_inst *self, struct query *q);

	struct plugin_ops ops;
};

struct plugin_inst {
	const struct plugin *plugin;
	struct block *block;
	void *conf;
	/* The plugin's; parse may set another one that its options ask for. */
	enum verdict (*respond)(struct plugin_inst *self, struct query *q);
	unsigned id;		 /* unique in its generation */
	unsigned chain_at;	 /* position in the chain; UINT_MAX when not a member */
	unsigned state_at;	 /* index of its query state */
	void **worker_data;	 /* one pointer per worker slot, for worker_init to fill; index by
			       query_slot(q) */
	struct task_owner tasks; /* for task_every, from commit on; the server stops them */
	struct srcpos pos;	 /* of the first stanza */
	const char *stanza;	 /* canonical text of all its stanzas: equal text, equal meaning */
};

/* The ordered list of all plugins, ended by NULL (made by plugin/registry.c). */
extern const struct plugin *const plugin_list[];

/* What a plugin may set for its block, at parse or prepare. */
struct block_timeouts {
	int64_t read_ns, write_ns, idle_ns; /* 0: default (3 s, 5 s, 10 s) */
	int64_t max_tcp_queries;	    /* 0: not configured; -1: no limit */
};

/* 1: the block accepts the query; 0: the next block is tried; negative: the filter failed, and the
 * query gets SERVFAIL rather than a block that is not meant for it. */
typedef int (*block_filter_fn)(void *ctx, struct query *q);

struct certs;

struct block_conf {
	const char *root;	/* folder for relative paths; "" when none */
	const char *view;	/* name of the view; "" when none */
	block_filter_fn filter; /* NULL: accepts every query */
	void *filter_ctx;
	/* Runs when a query is routed to the block, before its filter (metadata). */
	void (*collect)(void *ctx, struct query *q);
	void *collect_ctx;
	uint16_t opcodes;	   /* bits of opcodes accepted beyond QUERY and NOTIFY */
	bool any_class;		   /* classes other than IN are admitted on its listeners */
	const char *const *listen; /* IP texts (with %scope); none: all addresses */
	size_t n_listen;
	unsigned sockets; /* multisocket; 0: as many as CPUs */
	struct block_timeouts timeouts;
	struct {
		bool has_max_connections, has_max_streams;
		uint32_t max_connections, max_streams; /* 0: no limit of its own; the default */
	} https;
	struct certs *certs; /* tls; set at prepare, the plugin's own. NULL: no encryption */
	int64_t lameduck_ns; /* health */
	bool debug;
	/* reload; interval 0: off */
	int64_t reload_ns, reload_jitter_ns;
	/* A zone, lower case, that an instance answers for itself wherever the block serves a zone above
	 * it; NULL: none. */
	const uint8_t *own_zone;
	const char *own_zone_text;
	const struct plugin_inst *own_zone_inst;
	const uint16_t *edns_echo; /* option codes echoed to clients */
	size_t n_edns_echo;
};

/* What parse gets. */
struct corefile_dir;
struct setup {
	struct arena *arena; /* lives as long as the generation */
	struct block *block;
	struct block_conf *conf;
	const struct corefile_dir *const *dir; /* the stanzas, in file order */
	size_t n_dir;
	struct srcerr *err;
};
