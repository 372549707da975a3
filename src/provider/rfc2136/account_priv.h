/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An account at RFC 2136 servers: the resolver that reaches them, and which of them is in use. */
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "net/loop.h"
#include "provider/provider.h"
#include "provider/rfc2136/settings_priv.h"

struct lookup_client;
struct resolve_upstream;
struct resolver;
struct rfc2136_names;

enum { RFC2136_UPSTREAMS_MAX = 16 };

struct rfc2136_address {
	union net_addr addr; /* with the port */
	const char *text;    /* what errors call it; NULL: the address */
};

struct rfc2136_account {
	struct provider_account account;
	struct rfc2136_settings settings;
	struct resolver *resolver;
	struct loop_timer flush;
	struct resolve_upstream *upstreams[RFC2136_UPSTREAMS_MAX]; /* addresses of the servers */
	size_t n_upstreams;
	size_t current;		     /* the one that is asked first */
	size_t n_opened;	     /* that the resolver knows, also previous ones */
	size_t n_sent;		     /* messages under way */
	struct rfc2136_names *names; /* NULL: all servers are addresses */
};

/* Takes the settings over. `lookups` is borrowed; needed only if they have names. */
struct rfc2136_account *rfc2136_account_new(struct loop *loop,
					    const struct rfc2136_settings *settings,
					    struct lookup_client *lookups);
/* Takes the settings with it. */
void rfc2136_account_free(struct rfc2136_account *account);

static inline struct rfc2136_account *rfc2136_account_of(struct provider_account *account)
{
	return CONTAINER_OF(account, struct rfc2136_account, account);
}

/* The addresses to use from now on; connections to those that stay are kept. False: there were too many in all,
 * and some are in use; the previous ones stay. */
bool rfc2136_account_set_addresses(struct rfc2136_account *account,
				   const struct rfc2136_address *addresses, size_t count);

/* NULL: nothing is signed. */
const struct dns_tsig_key *rfc2136_account_key(const struct rfc2136_account *account);
/* The server does not answer: the next one is asked from now on, unless that happened already. */
void rfc2136_account_leave(struct rfc2136_account *account, size_t server);
