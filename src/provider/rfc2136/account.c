/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Accounts: making and freeing them, and the choice of a server. */
#include "provider/rfc2136/account_priv.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/sock.h"
#include "resolve/resolver.h"
#include "resolve/upstream.h"

/* Servers close idle connections after ten seconds and more. */
#define IDLE_NS (5 * NS_PER_S)

static void on_flush(struct loop_timer *timer)
{
	resolver_flush(CONTAINER_OF(timer, struct rfc2136_account, flush)->resolver);
}

static void arm_flush(void *ctx)
{
	struct rfc2136_account *account = ctx;
	loop_timer_set(account->account.loop, &account->flush, loop_now(account->account.loop));
}

static struct resolve_upstream *open_upstream(const union net_addr *addr)
{
	return resolve_upstream_new(&(struct resolve_conf){ .addr = *addr, .expire_ns = IDLE_NS });
}

struct rfc2136_account *rfc2136_account_new(struct loop *loop,
					    const struct rfc2136_settings *settings)
{
	struct rfc2136_account *account = xcalloc(1, sizeof(*account));
	*account = (struct rfc2136_account){
		.account = { .loop = loop,
			     .has_owner_mark = settings->has_owner_records,
			     .had_owner_mark = settings->drops_owner_records },
		.settings = *settings,
		.flush = { .cb = on_flush }
	};
	account->resolver = resolver_new(&(struct resolver_env){
		.loop = loop, .ops = &net_ops_kernel, .arm = arm_flush, .ctx = account });
	for (size_t i = 0; i < settings->n_servers; i++) {
		account->upstreams[i] = open_upstream(&settings->servers[i]);
	}
	return account;
}

void rfc2136_account_free(struct rfc2136_account *account)
{
	loop_timer_stop(account->account.loop, &account->flush);
	resolver_free(account->resolver);
	for (size_t i = 0; i < account->settings.n_servers; i++)
		resolve_upstream_unref(account->upstreams[i]);
	rfc2136_settings_done(&account->settings);
	free(account);
}

const struct dns_tsig_key *rfc2136_account_key(const struct rfc2136_account *account)
{
	return account->settings.key.algorithm != NULL ? &account->settings.key : NULL;
}

void rfc2136_account_leave(struct rfc2136_account *account, size_t server)
{
	if (account->current == server)
		account->current = (server + 1) % account->settings.n_servers;
}
