/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The configuration of one block's stanzas: `forward FROM TO... { ... }`, as options (options.c)
 * and then as upstreams (upstreams.c).
 *
 * Glossary
 *   stanza    one `forward` line with its block. The stanzas of a block are asked in file order
 *   upstream  a server of a stanza, see resolve/types.h
 *   down      more health checks in a row failed than `max_fails` allows
 *   hedge     the same question sent to a second upstream before the first has timed out */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"
#include "net/addr.h"
#include "server/handler.h"
#include "server/setup.h"

struct metrics_series;
struct resolve_upstream;

enum {
	FORWARD_TO_MAX = 15,	     /* TO arguments, as in CoreDNS */
	FORWARD_UPSTREAMS_MAX = 255, /* upstreams of a stanza: files and names may stand for several
				      */
};
/* CoreDNS with `health_check 0s` asks without any pause. */
#define FORWARD_CHECK_MIN_NS ((int64_t)10 * 1000000)

enum forward_policy {
	FORWARD_RANDOM,
	FORWARD_ROUND_ROBIN,
	FORWARD_SEQUENTIAL,
	FORWARD_FASTEST,
};

enum forward_doh { FORWARD_DOH_POST, FORWARD_DOH_GET };

enum forward_tls_file { FORWARD_TLS_CERT, FORWARD_TLS_KEY, FORWARD_TLS_CA, FORWARD_TLS_FILES };

struct forward_stanza {
	struct srcpos pos;
	struct setup *setup; /* while it is parsed */

	/* As written. */
	const char *from_text;
	struct opt_list to;
	struct opt_list except_words;
	bool force_tcp;
	bool prefer_udp;
	int64_t expire_ns;
	int64_t max_age_ns;
	uint64_t max_idle;
	int64_t read_timeout_ns;
	uint64_t max_fails;
	uint64_t max_attempts;
	bool has_max_attempts;
	int doh; /* enum forward_doh */
	bool tls_given;
	const char *tls_file[FORWARD_TLS_FILES]; /* NULL: none */
	const char *tls_servername;		 /* NULL: none */
	int policy;				 /* enum forward_policy */
	int64_t check_ns;
	bool check_no_rec;
	const uint8_t *check_domain; /* wire */
	uint64_t max_concurrent;
	uint32_t next_rcodes; /* bit per rcode; named ones are below 32 */
	bool next_on_nodata;
	bool failfast;
	uint32_t failover_rcodes;
	union net_addr source; /* AF_UNSPEC: none */
	const union net_addr *resolver;
	size_t n_resolver;
	int64_t hedge_ns; /* 0: off */
	bool random_case;
	bool cookies;

	/* As understood. */
	const uint8_t *from; /* wire, lower case */
	struct zone_list except;
	unsigned index;	      /* among the stanzas of the block */
	unsigned first;	      /* index of its first upstream among those of the block */
	unsigned n_up;	      /* set by prepare */
	uint32_t attempts;    /* most exchanges that may fail for one query; 0: no limit */
	const char *too_many; /* error text of max_concurrent */
};

enum { FORWARD_OPTS = 26 };
extern const struct opt forward_opts[FORWARD_OPTS];
