/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What DNS servers and the agents of nodes say to each other, over a unix socket or TLS. Pure: no I/O.
 *
 * Both sides begin with a hello that names the newest version they speak; the smaller one counts. Then the
 * server sends requests with numbers of its choice, and the agent answers each when its pairs are in force,
 * in any order. Numbers are big-endian:
 *
 *	frame    length of the rest (2), kind (1), and by kind:
 *	hello    "fairlead", version (2)
 *	add      number (4), pairs
 *	add for  number (4), bytes of the namespace (1), namespace whose limits count, pairs; since version 2
 *	pair     name id (16), milliseconds that it is wanted for (4), bytes of the address (1), address
 *	result   number (4), 0 or the reason (1)
 *	probe    number (4); its result: are the node's rules in force? ERR_BUSY: not yet
 *	forget   nothing (version 2, from the agent): what was acknowledged before may not be in force any more
 *
 * An agent that does not know any more what is in force ends all connections: a server forgets what it knew
 * from one with it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "addrset/addrset.h"
#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"

enum {
	ADDRSET_AGENT_VERSION = 2,
	ADDRSET_AGENT_FORGETS = 2,	 /* the first version that has `forget` */
	ADDRSET_AGENT_FRAME_MAX = 16384, /* with its length */
	ADDRSET_AGENT_PAIRS_MAX = 256,	 /* of one request */
	ADDRSET_AGENT_TENANT_MAX = 63,	 /* bytes of a namespace's name */
	ADDRSET_AGENT_WANTED_MAX_MS = 8 * 86400 * 1000,
};

enum addrset_agent_kind {
	ADDRSET_AGENT_HELLO = 1,
	ADDRSET_AGENT_ADD = 2,
	ADDRSET_AGENT_RESULT = 3,
	ADDRSET_AGENT_PROBE = 4,
	ADDRSET_AGENT_FORGET = 5,
	ADDRSET_AGENT_ADD_FOR = 6,
};

/* A frame as it was received; it borrows the bytes. */
struct addrset_agent_frame {
	enum addrset_agent_kind kind;
	uint16_t version; /* hello */
	uint32_t number;  /* add, add for, result, probe */
	int result;	  /* result: 0, or an error code */
	size_t n_pairs;	  /* add, add for: at least one */
	struct slice pairs;
	struct slice tenant; /* add for */
};

/* Cuts the first frame off `rest`. 1: here it is; 0: it is not complete; ERR_PARSE: the peer speaks something
 * else. */
MUST_CHECK int addrset_agent_take(struct slice *rest, struct addrset_agent_frame *ret);
/* All pairs of an `add` or `add for` into an array of n_pairs. */
void addrset_agent_pairs(const struct addrset_agent_frame *frame, uint64_t now_ns,
			 struct addrset_pair *ret);

void addrset_agent_put_hello(struct strbuf *out);
/* 1 to ADDRSET_AGENT_PAIRS_MAX pairs. `version` is the one that both sides speak; before 2, and if it has no
 * tenant, nobody's limits count. */
void addrset_agent_put_add(struct strbuf *out, uint32_t number, uint16_t version,
			   const struct addrset_request *request, uint64_t now_ns);
void addrset_agent_put_result(struct strbuf *out, uint32_t number, int result);
void addrset_agent_put_probe(struct strbuf *out, uint32_t number);
void addrset_agent_put_forget(struct strbuf *out);
