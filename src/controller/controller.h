/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The interface of controllers. A controller watches kinds; a change of an object puts keys into its
 * queue; workers call reconcile for each key, which makes the cluster as it should be, whatever
 * happened before. The manager (controller/manager.h) does the rest: copies of the watched objects,
 * queue, election, Events, health, metrics, stop. docs/controllers.md has a walk through one.
 *
 * A controller is a folder of src/controller and a line in its meson.build.
 *
 * Glossary
 *   key     what is reconciled: "namespace/name", "name", or whatever the controller's `keys` say
 *   watch   a kind, and which of its objects and fields the controller wants to see
 *   store   the copy of a watch's objects, always a little behind the cluster */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/tree.h"
#include "base/compiler.h"
#include "base/err_text.h"
#include "base/strbuf.h"
#include "kube/informer/store.h"
#include "kube/webhook/admission.h"
#include "net/addr.h"

struct api_kind;
struct engine;
struct events;
struct informers_part;
struct kube_conn;
struct kube_record_kind;
struct kube_string_pool;
struct lease;

/* How many objects a controller may write per second, and at once after a pause; zeroes: not said.
 * Leases, reads and watches do not count. */
struct controller_writes {
	unsigned per_s, burst;
};

enum {
	CONTROLLER_WRITES_PER_S = 20, /* where neither the table nor the command line says */
	CONTROLLER_WRITES_BURST = 40,
};
#define CONTROLLER_WRITES_UNLIMITED UINT_MAX /* as per_s */

/* A Lease by name. */
struct controller_lease {
	const char *ns; /* NULL: the program's own */
	const char *name;
};

enum { CONTROLLER_WATCHES_MAX = 24, CONTROLLER_WORKERS_MAX = 32 };

/* `fairlead up`: the DNS server of this process, instead of others that read a ConfigMap. */
struct controller_machine {
	uint16_t port;
	const char *bind,
		*kubeconfig; /* where it listens, and the API that it reads Services from */
	bool no_resolvers;   /* /etc/resolv.conf has no server to forward to */
	bool own_corefile;   /* the user's, which may listen elsewhere */
	/* It learns addresses for egress rules: the namespace of DNSName objects, and the file with
	 * the keys of what it learnt. NULL: it does not. The networks of Services, with spaces
	 * between, which it never learns. */
	const char *egress_ns, *egress_keys, *egress_never;
	/* And it holds answers until this machine's agent, at this socket, has them in force. NULL: it does not. */
	const char *egress_socket;
	bool records; /* it answers for DNSRecord objects of type local */
	/* Sets the Corefile that it should run; NULL: the one that it started with. Any thread. */
	void (*publish)(void *ctx, const char *corefile);
	void *ctx;
};

#define CONTROLLER_NO_PROBE UINT64_MAX /* as dnsrecord_probe_ns: there are none */

/* Flags of the command line for controllers; members may be NULL. */
struct controller_options {
	const struct controller_machine *machine; /* NULL: a cluster */
	const char *platform;		/* "kubernetes", "openshift", ...; NULL, "auto": detect */
	const char *feature_gates;	/* "NAME=true|false,..." */
	const char *dns_cluster_domain; /* lower case, no final dot; NULL: that of the Corefile */
	/* The cluster's DNS servers; none: its pods. */
	const union net_addr *dns_instances;
	size_t n_dns_instances;
	bool dns_by_proxy;	  /* they are polled through the API server, not over DNS */
	uint64_t dns_reload_ns;	  /* they load a new configuration within this time; 0: default */
	uint64_t dns_settle_ns;	  /* conditions that got well stay so for this time; 0: default */
	const char *dns_operands; /* "true", "false"; NULL, "auto": where the platform has it so */
	const char *dns_image, *dns_cli_image, *dns_proxy_image;
	const char *dns_config_source; /* "file", "api"; NULL: "file" */
	uint64_t heartbeat_ns;	       /* between two heartbeats, whole seconds; 0: default */
	/* Servers for lookups of controllers; none: those of /etc/resolv.conf, and on one machine
	 * the DNS server of this process, unless it has a Corefile of the user. */
	const union net_addr *lookup_servers;
	size_t n_lookup_servers;
	/* Name servers that poddns writes into pods, without ports; none: those of the cluster. */
	const union net_addr *pod_dns_servers;
	size_t n_pod_dns_servers;
	/* dnsrecord: classes and types that it serves, with commas between (NULL: shoot, all providers
	 * but those for tests); "protect" or "drop-in" (NULL: protect). */
	const char *dnsrecord_classes, *dnsrecord_types, *dnsrecord_ownership;
	uint64_t dnsrecord_probe_ns;   /* between two probes of a record; 0: default */
	uint64_t dnsrecord_serials_ns; /* between two questions for a zone's serial; 0: none */
	const union net_addr *dnsrecord_notify; /* where name servers send NOTIFYs; NULL: nowhere */
	bool dnsrecord_dry_run;			/* writes no record set */
	bool dnsrecord_by_generation;		/* on Gardener, too, a new generation is enough */
	/* Controllers may keep files in a directory of their own below this one (data_dir.h); NULL:
	 * there is no place for them, as in a cluster. */
	const char *data_dir;
};

/* Puts a key into the queue. */
typedef void (*controller_emit)(void *arg, const char *key);

/* The context of reconcile. Each worker has its own. */
struct controller_ctx {
	const char *name;			  /* of the controller; may be NULL in tests */
	const char *ns;				  /* of the program itself */
	const struct controller_options *options; /* NULL in tests: none given */
	struct kube_store *const *stores;	  /* one for each watch, in the table's order */
	/* Where the stores have the indexes of the watches; NULL in tests: in the same order. */
	const struct informers_part *parts;
	struct kube_conn *conn;
	struct events *events; /* may be NULL in tests */
	struct lease *lease;   /* for calls that no resourceVersion guards; NULL: no election */
	/* The rival's Lease that is held as well (--take-lease); no name: none. */
	struct controller_lease taken;
	struct engine *engine; /* work that completes later; NULL: its table has none */
	void *state;	       /* what `start` made */
	controller_emit emit;  /* queues another key */
	void *emit_arg;
	/* Set by reconcile: */
	uint64_t again_ns; /* success, but reconcile again after this time; 0: no need to */
	char err[512];	   /* why it failed, for the log */
};

struct controller_watch {
	const char *group, *kind; /* "" for core; must be in api/kind.c */
	bool own_ns;		  /* only in the program's namespace */
	const char *ns;		  /* only in this one; NULL: in all */
	/* The server may have the kind in one of these versions only, newest first, ended by NULL;
	 * NULL: there is but the one in api/kind.c. */
	const char *const *older_versions;
	const char *labels, *fields;
	bool optional; /* the server may lack the kind, or keep it from us: no objects then */
	/* What to keep of an object, ended by NULL; NULL: all of it. Objects are trees
	 * (kube/decode/tree.h), and may have more than that: controllers that watch the same objects
	 * share one copy. */
	const char *const *paths;
	/* For kinds with very many objects, one of two compact forms in place of trees: a struct of the
	 * controller's, filled by a table (kube/decode/record.h), or a codec of its own, such as
	 * kube_pod_codec or one of whole objects as text (kube/decode/packed.h). Controllers share a copy
	 * if they name the same. */
	const struct kube_record_kind *record;
	struct kube_codec *(*codec)(struct kube_string_pool *pool);
	/* Indexes of the store, for controller_each_by(). */
	const kube_index_fn *indexes;
	size_t n_indexes;
	/* Emits the keys to reconcile because the object was added, changed (also called with the
	 * old object) or deleted; NULL: its own. On the watch's thread: must not wait. */
	void (*keys)(const struct controller_ctx *ctx, const struct kube_obj *object,
		     controller_emit emit, void *arg);
};

/* Each object of the watch number `watch` that its index number `index` knows by the key, as
 * kube_store_each_by. */
void controller_each_by(const struct controller_ctx *ctx, size_t watch, size_t index,
			struct slice key, kube_store_fn fn, void *arg);

/* The kind of the watch in the version that the server has; what is read and written has its form. */
const struct api_kind *controller_kind_of(const struct controller_ctx *ctx,
					  const struct controller_watch *watch, size_t index);

/* Whether the stores of all these watches, the table of the ctx's controller, are complete as far as
 * they can be. A hook may be called before; reconcile is not. True without `parts`. */
bool controller_is_synced(const struct controller_ctx *ctx, const struct controller_watch *watches,
			  size_t count);

struct controller {
	const char *name; /* as `--controllers` has it; "example" */
	const char *help;
	bool by_name_only;   /* to be chosen knowingly: `--controllers *` does not mean it */
	bool makes_corefile; /* of one machine's DNS server: not beside a Corefile of the user */
	const struct controller_watch *watch;
	size_t n_watch;
	unsigned workers;		 /* 0: two */
	struct controller_writes writes; /* not said: the default of a cluster */
	bool has_engine;		 /* it has work that completes later (engine.h) */
	/* The Lease by which the program that it replaces, its rival, elects a leader; no name: there
	 * is none. With `--take-lease` it leads only while it holds that one, too: it waits for the
	 * rival's end, and the rival for its. */
	struct controller_lease rival_lease;
	/* A Lease in the program's namespace that is renewed while it leads and works, and who is said
	 * to hold it; NULL: none. Not on one machine. */
	const char *heartbeat_lease, *heartbeat_holder;
	/* 0, or a negative code with ctx->err: the key is retried, with growing delays. Must end soon
	 * after its connection was cancelled (-ECANCELED). */
	int (*reconcile)(struct controller_ctx *ctx, const char *key);
	/* State of its own, before anything runs and after all has ended; may be NULL. */
	int (*start)(void **ret_state, struct err_text err);
	void (*stop)(void *state);
	/* Lines for the page /readyz, ready or not; may be NULL. Any thread. */
	void (*note)(void *state, struct strbuf *out);
	/* Web hooks. A row's ctx that is NULL is replaced by the controller's struct
	 * controller_ctx, which then has stores, options and state, but no connection: hooks must
	 * not wait. */
	const struct admission_hook *hooks;
	size_t n_hooks;
};

/* What it may write in a cluster if the command line does not say. */
struct controller_writes controller_default_writes(const struct controller *controller);

/* All there are, ended by NULL. */
extern const struct controller *const controller_list[];
const struct controller *controller_find(const char *name);
