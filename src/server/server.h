/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The DNS server: starts workers, serves a configuration, swaps it for another without losing a
 * query, and stops. All functions are for the one control thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/srcpos.h"
#include "server/config/source.h"

struct server;
struct corefile;
struct net_ops;
struct strbuf;

struct server_opts {
	uint16_t default_port; /* of keys without one; -dns.port */
	unsigned workers;      /* 0: multisocket, else from cpuset and cgroup quota */
	uint32_t max_tcp;      /* connections in all; 0: 10 000 or what files allow */
	uint32_t max_tls;      /* connections of encrypted transports; 0: 1000, or what files
				  allow */
	uint32_t max_waiting;  /* queries that wait, per process; 0: 20 000. Encrypted transports
				  have a quarter of it on top */
	const struct net_ops *ops; /* NULL: the kernel's */
	bool no_threads;	   /* tests and benchmarks: workers are driven by server_turn */
	bool no_metrics_page; /* `prometheus` counts and opens no page: the process has another */
	int log_fd;	      /* where query lines go; 0: standard output */
	/* Appends the error for a directive that is no plugin; NULL: a plain one is made. */
	void (*explain)(const char *name, struct strbuf *out);
};

/* Builds the first generation, opens its listeners, starts the workers. */
MUST_CHECK int server_start(const struct server_opts *opts, struct corefile *cf,
			    struct server **ret, struct srcerr *err);
/* Swaps to another configuration; on failure the old one serves on. Takes over `cf` either way. */
MUST_CHECK int server_reload(struct server *server, struct corefile *cf, struct srcerr *err);
/* Frees replaced configurations whose last query is done; true when some are left, to be called
 * again after a while. server_reload does it, too. */
bool server_reap(struct server *server);
/* Stops listening, lets queries in flight run for up to grace_ns, frees all. */
void server_stop(struct server *server, uint64_t grace_ns);
/* Parses and dry-prepares only. Takes over `cf`. */
MUST_CHECK int server_check(const struct server_opts *opts, struct corefile *cf,
			    struct srcerr *err);

/* From now on plugin/ready reports not ready; queries are served on until server_stop. */
void server_begin_shutdown(struct server *server);
/* True after that, in any thread of the process. */
bool server_is_stopping(void);
/* How long to go on serving after SIGTERM (health's lameduck; the longest of all blocks). */
int64_t server_lameduck_ns(const struct server *server);
/* reload plugin: interval 0 when off. */
void server_reload_interval(const struct server *server, int64_t *ret_interval_ns,
			    int64_t *ret_jitter_ns);
/* One line per zone and listener, as CoreDNS prints at start ("example.org.:53 on 127.0.0.1"). */
void server_print_zones(const struct server *server, struct strbuf *out);

/* Workers this machine suggests: cpuset and cgroup quota. */
unsigned server_default_workers(void);
/* For metrics_init, in a program that counts before the server starts: what `workers` of them need.
 */
unsigned server_slots(unsigned workers);
