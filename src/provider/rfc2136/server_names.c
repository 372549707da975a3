/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looks the names of an account's servers up before a message is sent, and again when their addresses may be
 * others: after their TTL, and when a server cannot be reached. Messages wait for that in a list. */
#include "provider/rfc2136/server_names_priv.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "dns/types.h"
#include "provider/rfc2136/account_priv.h"
#include "provider/rfc2136/ask_priv.h"
#include "resolve/lookup.h"

enum {
	FAMILIES = 2,
	ADDRESSES_MAX = 4, /* of a name, of each family */
	ERROR_BYTES = 200,
};
#define LOOKUP_NS	(5 * NS_PER_S) /* for all names together */
#define SHORTEST_TTL_NS (5 * NS_PER_S)
#define LONGEST_TTL_NS	(300 * NS_PER_S)

struct name_query {
	struct lookup lookup;
	struct rfc2136_names *names;
	bool is_under_way;
	union net_addr found[ADDRESSES_MAX];
	size_t n_found;
};

struct rfc2136_names {
	struct rfc2136_account *account;
	struct lookup_client *shared; /* borrowed */
	/* While names are looked up: its own, so that names which nobody answers for hold up no other account. */
	struct lookup_client *client;
	struct name_query queries[RFC2136_SERVERS_MAX][FAMILIES];
	struct loop_timer timer; /* ends the lookups: all have answered, or time is up */
	bool is_looking;
	unsigned round; /* the number of lookups so far */
	size_t n_under_way;
	uint64_t looked_up_ns, expires_ns; /* 0: not yet */
	uint64_t ttl_ns;		   /* the lowest so far */
	char error[ERROR_BYTES];	   /* of the last lookup that failed */
	struct rfc2136_ask *first, *last;  /* that wait */
};

/* ---- what waits ---- */

static struct rfc2136_ask *pop_ask(struct rfc2136_names *names)
{
	struct rfc2136_ask *ask = names->first;
	if (ask == NULL)
		return NULL;
	names->first = ask->next_waiting;
	if (names->first == NULL)
		names->last = NULL;
	ask->next_waiting = NULL;
	ask->is_waiting = false;
	return ask;
}

static void append_ask(struct rfc2136_names *names, struct rfc2136_ask *ask)
{
	ask->is_waiting = true;
	ask->round = names->round;
	ask->next_waiting = NULL;
	*(names->last != NULL ? &names->last->next_waiting : &names->first) = ask;
	names->last = ask;
}

void rfc2136_names_forget(struct rfc2136_ask *ask)
{
	struct rfc2136_names *names = ask->account->names;
	struct rfc2136_ask *before = NULL;
	if (!ask->is_waiting)
		return;
	for (struct rfc2136_ask *at = names->first; at != ask; at = at->next_waiting)
		before = at;
	*(before != NULL ? &before->next_waiting : &names->first) = ask->next_waiting;
	if (names->last == ask)
		names->last = before;
	ask->is_waiting = false;
}

/* A job that ends may begin the next lookup: what is added meanwhile waits for that one. */
static void resume_asks(struct rfc2136_names *names)
{
	const struct rfc2136_account *account = names->account;
	char error[ERROR_BYTES];
	unsigned round = names->round;
	memcpy(error, names->error, sizeof(error));
	while (names->first != NULL && names->first->round == round)
		rfc2136_ask_resume(pop_ask(names), account->n_upstreams != 0 ? NULL : error);
}

/* ---- results ---- */

static size_t add_found(const struct name_query *query, const struct rfc2136_server *server,
			struct rfc2136_address *ret, size_t room)
{
	size_t n = MIN(query->n_found, room);
	for (size_t i = 0; i < n; i++) {
		ret[i] = (struct rfc2136_address){ query->found[i], server->text };
		net_addr_set_port(&ret[i].addr, net_addr_port(&server->addr));
	}
	return n;
}

static size_t list_addresses(const struct rfc2136_names *names,
			     struct rfc2136_address ret[RFC2136_UPSTREAMS_MAX])
{
	const struct rfc2136_settings *settings = &names->account->settings;
	size_t n = 0;
	for (size_t i = 0; i < settings->n_servers; i++) {
		const struct rfc2136_server *server = &settings->servers[i];
		if (!server->is_name && n < RFC2136_UPSTREAMS_MAX)
			ret[n++] = (struct rfc2136_address){ server->addr, NULL };
		for (size_t k = 0; server->is_name && k < FAMILIES; k++)
			n += add_found(&names->queries[i][k], server, ret + n,
				       RFC2136_UPSTREAMS_MAX - n);
	}
	return n;
}

/* The previous addresses stay in use if there are no others. */
static void end_lookups(struct rfc2136_names *names)
{
	struct rfc2136_address addresses[RFC2136_UPSTREAMS_MAX];
	uint64_t now = loop_now(names->account->account.loop);
	size_t n = list_addresses(names, addresses);
	bool is_set = n != 0 && rfc2136_account_set_addresses(names->account, addresses, n);
	uint64_t ttl_ns = is_set && names->error[0] == '\0' ? names->ttl_ns : SHORTEST_TTL_NS;
	names->is_looking = false;
	names->looked_up_ns = now;
	names->expires_ns = now + MIN(MAX(ttl_ns, SHORTEST_TTL_NS), LONGEST_TTL_NS);
	if (n == 0 && names->error[0] == '\0')
		snprintf(names->error, sizeof(names->error),
			 "the names of the servers have no addresses");
	resume_asks(names);
}

static void on_timer(struct loop_timer *timer)
{
	struct rfc2136_names *names = CONTAINER_OF(timer, struct rfc2136_names, timer);
	for (size_t i = 0; i < RFC2136_SERVERS_MAX; i++) {
		for (size_t k = 0; k < FAMILIES; k++) {
			struct name_query *query = &names->queries[i][k];
			if (query->is_under_way)
				snprintf(names->error, sizeof(names->error),
					 "the name of the server '%s' cannot be looked up: no "
					 "answer in time",
					 names->account->settings.servers[i].text);
			query->is_under_way = false;
		}
	}
	names->n_under_way = 0;
	lookup_client_free(names->client);
	names->client = NULL;
	end_lookups(names);
}

/* Neither addresses nor the servers that were asked are shown: the author of the Secret may not know them. */
static void on_found(struct lookup *lookup)
{
	struct name_query *query = CONTAINER_OF(lookup, struct name_query, lookup);
	struct rfc2136_names *names = query->names;
	size_t server = (size_t)(query - &names->queries[0][0]) / FAMILIES;
	uint32_t ttl_s = 0;
	int n = lookup->result;
	if (n == 0)
		n = lookup_addresses(lookup, query->found, ADDRESSES_MAX, &ttl_s, NULL);
	query->n_found = n > 0 ? MIN((size_t)n, (size_t)ADDRESSES_MAX) : 0;
	if (n >= 0)
		names->ttl_ns = MIN(names->ttl_ns, ttl_s * NS_PER_S);
	else
		snprintf(names->error, sizeof(names->error),
			 "the name of the server '%s' cannot be looked up",
			 names->account->settings.servers[server].text);
	query->is_under_way = false;
	assert(names->n_under_way != 0);
	/* In a turn of its own: what waits may begin the next lookup. */
	if (--names->n_under_way == 0)
		loop_timer_set(names->account->account.loop, &names->timer,
			       loop_now(names->account->account.loop));
}

static void start_query(struct rfc2136_names *names, size_t server, size_t family)
{
	static const uint16_t types[FAMILIES] = { DNS_TYPE_A, DNS_TYPE_AAAA };
	struct name_query *query = &names->queries[server][family];
	*query = (struct name_query){ .names = names,
				      .is_under_way = true,
				      .lookup = { .type = types[family], .done = on_found } };
	memcpy(query->lookup.name, names->account->settings.servers[server].name, DNS_NAME_MAX);
	names->n_under_way++;
	lookup_start(names->client, &query->lookup);
}

static void start_lookups(struct rfc2136_names *names)
{
	const struct rfc2136_settings *settings = &names->account->settings;
	struct loop *loop = names->account->account.loop;
	names->is_looking = true;
	names->round++;
	names->client = lookup_client_dup(names->shared);
	names->error[0] = '\0';
	names->ttl_ns = LONGEST_TTL_NS;
	loop_timer_set(loop, &names->timer, loop_now(loop) + LOOKUP_NS);
	for (size_t i = 0; i < settings->n_servers; i++) {
		for (size_t k = 0; settings->servers[i].is_name && k < FAMILIES; k++)
			start_query(names, i, k);
	}
}

/* ---- for asks ---- */

bool rfc2136_names_wait(struct rfc2136_ask *ask)
{
	struct rfc2136_account *account = ask->account;
	struct rfc2136_names *names = account->names;
	if (names == NULL ||
	    (account->n_upstreams != 0 && loop_now(account->account.loop) < names->expires_ns))
		return false;
	if (!names->is_looking)
		start_lookups(names);
	append_ask(names, ask);
	return true;
}

void rfc2136_names_doubt(struct rfc2136_account *account)
{
	struct rfc2136_names *names = account->names;
	if (names != NULL)
		names->expires_ns = MIN(names->expires_ns, names->looked_up_ns + SHORTEST_TTL_NS);
}

/* ---- life ---- */

struct rfc2136_names *rfc2136_names_new(struct rfc2136_account *account,
					struct lookup_client *client)
{
	struct rfc2136_names *names = xcalloc(1, sizeof(*names));
	names->account = account;
	names->shared = client;
	names->timer.cb = on_timer;
	return names;
}

void rfc2136_names_free(struct rfc2136_names *names)
{
	if (names == NULL)
		return;
	assert(names->first == NULL);
	lookup_client_free(names->client);
	loop_timer_stop(names->account->account.loop, &names->timer);
	free(names);
}
