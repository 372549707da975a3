/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Accounts: making and freeing them, and the choice of a server. */
#include "provider/rfc2136/account_priv.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/sock.h"
#include "provider/rfc2136/server_names_priv.h"
#include "resolve/resolver.h"
#include "resolve/upstream.h"

/* Servers close idle connections after ten seconds and more. */
#define IDLE_NS (5 * NS_PER_S)

enum { OPENED_MAX = 64 };

static void on_flush(struct loop_timer *timer)
{
	resolver_flush(CONTAINER_OF(timer, struct rfc2136_account, flush)->resolver);
}

static void arm_flush(void *ctx)
{
	struct rfc2136_account *account = ctx;
	loop_timer_set(account->account.loop, &account->flush, loop_now(account->account.loop));
}

static void open_resolver(struct rfc2136_account *account)
{
	account->resolver = resolver_new(&(struct resolver_env){ .loop = account->account.loop,
								 .ops = &net_ops_kernel,
								 .arm = arm_flush,
								 .ctx = account });
}

/* ---- addresses ---- */

static struct resolve_upstream *find_upstream(const struct rfc2136_account *account,
					      const union net_addr *addr)
{
	for (size_t i = 0; i < account->n_upstreams; i++) {
		const union net_addr *known = &account->upstreams[i]->conf.addr;
		if (net_addr_same_ip(known, addr) && net_addr_port(known) == net_addr_port(addr))
			return account->upstreams[i];
	}
	return NULL;
}

static struct resolve_upstream *open_upstream(struct rfc2136_account *account,
					      const struct rfc2136_address *address)
{
	struct resolve_upstream *upstream = resolve_upstream_new(
		&(struct resolve_conf){ .addr = address->addr, .expire_ns = IDLE_NS });
	if (address->text != NULL)
		snprintf(upstream->text, sizeof(upstream->text), "%s", address->text);
	account->n_opened++;
	return upstream;
}

static void drop_upstreams(struct rfc2136_account *account)
{
	for (size_t i = 0; i < account->n_upstreams; i++)
		resolve_upstream_unref(account->upstreams[i]);
	account->n_upstreams = 0;
}

static size_t count_new(const struct rfc2136_account *account,
			const struct rfc2136_address *addresses, size_t count)
{
	size_t n = 0;
	for (size_t i = 0; i < count; i++)
		n += find_upstream(account, &addresses[i].addr) == NULL;
	return n;
}

bool rfc2136_account_set_addresses(struct rfc2136_account *account,
				   const struct rfc2136_address *addresses, size_t count)
{
	struct resolve_upstream *opened[RFC2136_UPSTREAMS_MAX];
	size_t n_new = count_new(account, addresses, count);
	assert(count <= RFC2136_UPSTREAMS_MAX);
	if (n_new == 0 && count == account->n_upstreams)
		return true;
	/* A resolver remembers every address: a name that has others all the time needs a new one. */
	if (account->n_opened + n_new > OPENED_MAX) {
		if (account->n_sent != 0)
			return false;
		drop_upstreams(account);
		resolver_free(account->resolver);
		open_resolver(account);
		account->n_opened = 0;
	}
	for (size_t i = 0; i < count; i++) {
		struct resolve_upstream *known = find_upstream(account, &addresses[i].addr);
		opened[i] = known != NULL ? resolve_upstream_ref(known)
					  : open_upstream(account, &addresses[i]);
	}
	drop_upstreams(account);
	memcpy(account->upstreams, opened, count * sizeof(opened[0]));
	account->n_upstreams = count;
	account->current = 0;
	return true;
}

/* ---- life ---- */

struct rfc2136_account *rfc2136_account_new(struct loop *loop,
					    const struct rfc2136_settings *settings,
					    struct lookup_client *lookups)
{
	struct rfc2136_account *account = xcalloc(1, sizeof(*account));
	struct rfc2136_address addresses[RFC2136_SERVERS_MAX];
	*account = (struct rfc2136_account){
		.account = { .loop = loop,
			     .has_owner_mark = settings->has_owner_records,
			     .had_owner_mark = settings->drops_owner_records },
		.settings = *settings,
		.flush = { .cb = on_flush }
	};
	open_resolver(account);
	if (settings->has_names) {
		account->names = rfc2136_names_new(account, lookups);
		return account;
	}
	for (size_t i = 0; i < settings->n_servers; i++)
		addresses[i] = (struct rfc2136_address){ settings->servers[i].addr, NULL };
	rfc2136_account_set_addresses(account, addresses, settings->n_servers);
	return account;
}

void rfc2136_account_free(struct rfc2136_account *account)
{
	rfc2136_names_free(account->names);
	loop_timer_stop(account->account.loop, &account->flush);
	resolver_free(account->resolver);
	drop_upstreams(account);
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
		account->current = (server + 1) % account->n_upstreams;
	rfc2136_names_doubt(account);
}
