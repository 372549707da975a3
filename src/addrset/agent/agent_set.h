/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The agent of a node as an address set: the back end that DNS servers have. It keeps one connection,
 * knows what the agent has acknowledged on it, and so answers for known pairs without asking.
 *
 * A request is answered within AGENT_ANSWER_MS (or what is configured), whatever the agent does. While the agent cannot be reached or
 * is silent, requests fail at once: whoever waits for one node takes nothing from the others. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addrset/addrset.h"
#include "base/compiler.h"
#include "net/addr.h"
#include "net/loop.h"
#include "net/tls.h"

enum {
	AGENT_ANSWER_MS = 1500,	   /* the default */
	AGENT_REQUESTS_MAX = 1024, /* without an answer; more get ERR_BUSY. A power of 2 */
};

struct agent_set;

struct agent_set_conf {
	struct loop *loop;
	const char *path; /* of the unix socket; NULL: the agent is on another node */
	union net_addr addr;
	struct net_tls_cred *cred; /* borrowed */
	const char *tls_name;	   /* that the agent's certificate must have */
	uint64_t answer_ns;	   /* how long a request may take; 0: AGENT_ANSWER_MS */
};

/* Begins to connect. Texts are copied. ERR_LIMIT: the path is too long for a socket. */
MUST_CHECK int agent_set_new(const struct agent_set_conf *conf, struct agent_set **ret);
/* Requests that wait get ERR_CLOSED. Not from inside `done`, and when nobody asks any more. NULL is fine. */
void agent_set_free(struct agent_set *agent);

/* Where requests go to. */
struct addrset *agent_set_set(struct agent_set *agent);
/* Connections from now on use this one (certificates are rotated). Nothing for an agent at a unix socket. */
void agent_set_use_cred(struct agent_set *agent, struct net_tls_cred *cred);

struct agent_set_state {
	bool is_reachable;  /* the connection is there, and the agent answers */
	int reason;	    /* otherwise: why the last connection ended, 0 if there was none yet */
	uint64_t connects;  /* connections that were begun */
	uint64_t requests;  /* sent */
	uint64_t timed_out; /* of these */
	size_t known;	    /* pairs */
};

struct agent_set_state agent_set_state(const struct agent_set *agent);
