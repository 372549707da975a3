/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An account at RFC 2136 servers: the resolver that reaches them, and which of them is in use. */
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "net/loop.h"
#include "provider/provider.h"
#include "provider/rfc2136/settings_priv.h"

struct resolve_upstream;
struct resolver;

struct rfc2136_account {
	struct provider_account account;
	struct rfc2136_settings settings;
	struct resolver *resolver;
	struct loop_timer flush;
	struct resolve_upstream *upstreams[RFC2136_SERVERS_MAX];
	size_t current; /* the server that is asked first */
};

struct rfc2136_account *rfc2136_account_new(struct loop *loop,
					    const struct rfc2136_settings *settings);
/* Takes the settings with it. */
void rfc2136_account_free(struct rfc2136_account *account);

static inline struct rfc2136_account *rfc2136_account_of(struct provider_account *account)
{
	return CONTAINER_OF(account, struct rfc2136_account, account);
}

/* NULL: nothing is signed. */
const struct dns_tsig_key *rfc2136_account_key(const struct rfc2136_account *account);
/* The server does not answer: the next one is asked from now on, unless that happened already. */
void rfc2136_account_leave(struct rfc2136_account *account, size_t server);
