/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lookups wait in a list for one of a few slots, which hold what is sent. A slot asks server after
 * server, twice around, until one answers with NOERROR or NXDOMAIN. */
#include "resolve/lookup.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "dns/resp.h"
#include "dns/rrwalk.h"
#include "resolve/resolver.h"
#include "resolve/upstream.h"

enum {
	UDP_BYTES = 1232,
	TTL_MAX_S = 86400,
	TTL_UNKNOWN_S = 60, /* nothing in the reply says for how long it holds */
};
enum { ERROR_BYTES = 128 };

/* A lookup that is sent. There are few of them, so that those that wait need little memory. */
struct lookup_slot {
	struct resolve_exchange exchange;
	struct lookup *lookup; /* NULL: free */
	struct lookup_slot *next_free;
	uint8_t query[DNS_QUERY_MAX + DNS_OPT_BYTES];
};

struct lookup_client {
	struct loop *loop;
	struct resolver *resolver;
	struct resolve_upstream *servers[LOOKUP_SERVERS_MAX];
	size_t n_servers;
	bool tcp;
	uint64_t try_ns;
	unsigned preferred; /* the server that lookups begin with */
	struct loop_timer flush;
	struct lookup *first, *last; /* waiting for their turn */
	struct lookup_slot *free_slots;
	char error[ERROR_BYTES]; /* of the lookup whose done is called */
	struct lookup_slot slots[LOOKUP_AT_ONCE];
};

static void on_flush(struct loop_timer *timer)
{
	struct lookup_client *client = CONTAINER_OF(timer, struct lookup_client, flush);
	resolver_flush(client->resolver);
}

/* Questions of one turn leave together, in the next one. */
static void arm_flush(void *ctx)
{
	struct lookup_client *client = ctx;
	loop_timer_set(client->loop, &client->flush, loop_now(client->loop));
}

/* Without servers. */
static struct lookup_client *make_client(struct loop *loop)
{
	struct lookup_client *client = xcalloc(1, sizeof(*client));
	client->loop = loop;
	client->flush.cb = on_flush;
	client->resolver = resolver_new(&(struct resolver_env){
		.loop = loop, .ops = &net_ops_kernel, .arm = arm_flush, .ctx = client });
	for (size_t i = 0; i < LOOKUP_AT_ONCE; i++) {
		client->slots[i].next_free = client->free_slots;
		client->free_slots = &client->slots[i];
	}
	return client;
}

struct lookup_client *lookup_client_new(const struct lookup_conf *conf)
{
	struct lookup_client *client = make_client(conf->loop);
	assert(conf->n_servers != 0 && conf->n_servers <= LOOKUP_SERVERS_MAX);
	client->tcp = conf->tcp;
	client->try_ns = conf->try_ns != 0 ? conf->try_ns : LOOKUP_TRY_NS;
	client->n_servers = conf->n_servers;
	for (size_t i = 0; i < conf->n_servers; i++)
		client->servers[i] =
			resolve_upstream_new(&(struct resolve_conf){ .addr = conf->servers[i] });
	return client;
}

struct lookup_client *lookup_client_dup(const struct lookup_client *client)
{
	struct lookup_client *copy = make_client(client->loop);
	copy->tcp = client->tcp;
	copy->try_ns = client->try_ns;
	copy->preferred = client->preferred;
	copy->n_servers = client->n_servers;
	for (size_t i = 0; i < client->n_servers; i++)
		copy->servers[i] = resolve_upstream_ref(client->servers[i]);
	return copy;
}

void lookup_client_free(struct lookup_client *client)
{
	if (client == NULL)
		return;
	while (client->first != NULL)
		lookup_cancel(client->first);
	for (size_t i = 0; i < LOOKUP_AT_ONCE; i++) {
		if (client->slots[i].lookup != NULL)
			lookup_cancel(client->slots[i].lookup);
	}
	loop_timer_stop(client->loop, &client->flush);
	resolver_free(client->resolver);
	for (size_t i = 0; i < client->n_servers; i++)
		resolve_upstream_unref(client->servers[i]);
	free(client);
}

/* ---- waiting ---- */

static void append_waiting(struct lookup *lookup)
{
	struct lookup_client *client = lookup->client;
	lookup->waiting = true;
	lookup->next = NULL;
	lookup->prev = client->last;
	*(client->last != NULL ? &client->last->next : &client->first) = lookup;
	client->last = lookup;
}

static void remove_waiting(struct lookup *lookup)
{
	struct lookup_client *client = lookup->client;
	assert(lookup->waiting);
	*(lookup->prev != NULL ? &lookup->prev->next : &client->first) = lookup->next;
	*(lookup->next != NULL ? &lookup->next->prev : &client->last) = lookup->prev;
	lookup->waiting = false;
}

/* ---- asking ---- */

static void on_answer(struct resolve_exchange *exchange);

static size_t server_of(const struct lookup *lookup)
{
	return (lookup->first + lookup->tried) % lookup->client->n_servers;
}

static void send_question(struct lookup_slot *slot, bool tcp)
{
	struct lookup *lookup = slot->lookup;
	struct lookup_client *client = lookup->client;
	struct dns_opt opt = { .udp_size = UDP_BYTES };
	size_t len = dns_message_query(slot->query, 0, DNS_FLAG_RD, lookup->name, lookup->type);
	len = dns_message_add_opt(slot->query, len, &opt);
	slot->exchange = (struct resolve_exchange){
		.up = client->servers[server_of(lookup)],
		.msg = slot->query,
		.msg_n = (uint16_t)len,
		.tcp = tcp,
		.deadline_ns = loop_now(client->loop) + client->try_ns,
		.done = on_answer,
	};
	resolve_start(client->resolver, &slot->exchange);
}

static void send_waiting(struct lookup_client *client)
{
	while (client->first != NULL && client->free_slots != NULL) {
		struct lookup_slot *slot = client->free_slots;
		struct lookup *lookup = client->first;
		client->free_slots = slot->next_free;
		remove_waiting(lookup);
		assert(slot->lookup == NULL && lookup->slot == NULL);
		slot->lookup = lookup;
		lookup->slot = slot;
		lookup->first = client->preferred;
		send_question(slot, client->tcp);
		if (lookup->sent != NULL)
			lookup->sent(lookup);
	}
}

static void free_slot(struct lookup *lookup)
{
	struct lookup_client *client = lookup->client;
	struct lookup_slot *slot = TAKE_PTR(lookup->slot);
	slot->lookup = NULL;
	slot->next_free = client->free_slots;
	client->free_slots = slot;
}

static void end_lookup(struct lookup *lookup)
{
	struct lookup_client *client = lookup->client;
	free_slot(lookup);
	lookup->done(lookup); /* may free it */
	send_waiting(client);
}

/* ---- answers ---- */

static void set_error(struct lookup *lookup, int code)
{
	const struct resolve_exchange *exchange = &lookup->slot->exchange;
	struct lookup_client *client = lookup->client;
	char mnemonic[DNS_MNEMONIC_MAX];
	const char *why = code == -ETIMEDOUT		 ? "no answer"
			  : code == ERR_PARSE		 ? "not a valid DNS answer"
			  : exchange->error_text != NULL ? exchange->error_text
							 : err_str(code);
	if (code == 0)
		why = dns_rcode_str(lookup->rcode, mnemonic);
	lookup->result = code != 0 ? code : ERR_BUSY;
	snprintf(client->error, sizeof(client->error), "%s: %s", exchange->up->text, why);
	lookup->error = client->error;
}

/* A server that fails says nothing about the name: the next one may know. */
static void on_answer(struct resolve_exchange *exchange)
{
	struct lookup_slot *slot = CONTAINER_OF(exchange, struct lookup_slot, exchange);
	struct lookup *lookup = slot->lookup;
	struct lookup_client *client = lookup->client;
	int code = resolve_error_of(exchange);
	if (resolve_is_truncated(exchange)) {
		send_question(slot, true);
		return;
	}
	lookup->rcode = code == 0 ? exchange->reply[3] & 15 : 0;
	if (code == 0 &&
	    (lookup->rcode == DNS_RCODE_NOERROR || lookup->rcode == DNS_RCODE_NXDOMAIN)) {
		lookup->result = 0;
		lookup->error = "";
		lookup->reply = exchange->reply;
		lookup->reply_len = exchange->reply_n;
		end_lookup(lookup);
		return;
	}
	set_error(lookup, code);
	/* Else each lookup would wait for a silent server first, and few can wait at a time. */
	if (code != 0 && server_of(lookup) == client->preferred)
		client->preferred = (client->preferred + 1) % (unsigned)client->n_servers;
	if (++lookup->tried < LOOKUP_ROUNDS * client->n_servers)
		send_question(slot, client->tcp);
	else
		end_lookup(lookup);
}

void lookup_start(struct lookup_client *client, struct lookup *lookup)
{
	assert(!lookup->waiting && lookup->slot == NULL);
	lookup->client = client;
	lookup->tried = 0;
	append_waiting(lookup);
	send_waiting(client);
}

void lookup_cancel(struct lookup *lookup)
{
	if (lookup->waiting) {
		remove_waiting(lookup);
	} else if (lookup->slot != NULL) {
		resolve_cancel(lookup->client->resolver, &lookup->slot->exchange);
		free_slot(lookup);
		send_waiting(lookup->client);
	}
}

/* ---- addresses ---- */

static bool read_address(const struct dns_rrwalk *walk, uint16_t type, union net_addr *ret)
{
	if (walk->of != DNS_ANSWER || walk->type != type || walk->cls != DNS_CLASS_IN)
		return false;
	memset(ret, 0, sizeof(*ret));
	if (type == DNS_TYPE_A && walk->rdlen == sizeof(ret->v4.sin_addr)) {
		ret->v4.sin_family = AF_INET;
		memcpy(&ret->v4.sin_addr, walk->rdata, sizeof(ret->v4.sin_addr));
		return true;
	}
	if (type == DNS_TYPE_AAAA && walk->rdlen == sizeof(ret->v6.sin6_addr)) {
		ret->v6.sin6_family = AF_INET6;
		memcpy(&ret->v6.sin6_addr, walk->rdata, sizeof(ret->v6.sin6_addr));
		return true;
	}
	return false;
}

static void read_owner(const struct dns_rrwalk *walk, uint8_t *ret)
{
	if (ret != NULL && dns_rrwalk_owner(walk, ret) < 0)
		ret[0] = 0;
}

/* For how long the record lets the reply be used. A negative reply has its SOA for that (RFC 2308
 * section 5). */
static uint32_t ttl_of(const struct dns_rrwalk *walk)
{
	if (walk->of == DNS_ANSWER)
		return walk->ttl;
	if (walk->of == DNS_AUTHORITY && walk->type == DNS_TYPE_SOA && walk->rdlen >= 4)
		return MIN(walk->ttl, dns_get32(walk->rdata + walk->rdlen - 4));
	return UINT32_MAX;
}

int lookup_addresses(const struct lookup *lookup, union net_addr *ret, size_t max,
		     uint32_t *ret_ttl, uint8_t ret_owner[DNS_NAME_MAX])
{
	struct dns_resp resp = { 0 };
	struct dns_rrwalk walk;
	union net_addr addr;
	struct arena arena;
	uint32_t ttl = UINT32_MAX;
	int found = 0;
	arena_init(&arena);
	if (ret_owner != NULL)
		ret_owner[0] = 0;
	int r = dns_resp_from_wire(&resp, &arena, lookup->reply, lookup->reply_len);
	if (r >= 0) {
		dns_rrwalk_init(&walk, &resp);
		while (dns_rrwalk_next(&walk)) {
			ttl = MIN(ttl, ttl_of(&walk));
			if ((size_t)found >= max || !read_address(&walk, lookup->type, &addr))
				continue;
			if (found == 0)
				read_owner(&walk, ret_owner);
			ret[found++] = addr;
		}
	}
	*ret_ttl = ttl == UINT32_MAX ? TTL_UNKNOWN_S : MIN(ttl, (uint32_t)TTL_MAX_S);
	arena_done(&arena);
	return r < 0 ? r : found;
}
