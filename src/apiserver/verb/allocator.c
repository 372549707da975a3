/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Allocation of Service addresses and node ports: a bitmap per range. As in kube-apiserver, the
 * first part of a range is left to Services that name their address; others get a random one from
 * the rest, so that a re-created Service seldom gets the address that clients still cache. */
#include "apiserver/verb/allocator.h"

#include <assert.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/rng.h"
#include "net/addr.h"

enum { BAND_MIN = 16, BAND_MAX = 256, BAND_SHARE = 16 };
enum {
	PORTS = APISERVER_NODE_PORT_MAX - APISERVER_NODE_PORT_MIN + 1,
	PORT_BAND = PORTS / 32,
};

struct range {
	struct net_cidr cidr; /* of addresses */
	uint32_t first, end;  /* numbers inside of the range that can be allocated */
	uint32_t band;	      /* numbers below are allocated only when all others are taken */
	uint8_t *taken;
};

struct apiserver_allocator {
	pthread_mutex_t lock; /* guards the bitmaps and rng */
	struct rng rng;
	struct range range[APISERVER_CIDRS_MAX];
	size_t n_ranges;
	struct range ports; /* numbers count from APISERVER_NODE_PORT_MIN */
	char first[NET_ADDR_TEXT_MAX];
};

static size_t bytes_of(const struct range *range)
{
	return range->cidr.family == AF_INET ? 4 : 16;
}

/* Writes the address with this number as text. */
static void format_address(const struct range *range, uint32_t number, char out[NET_ADDR_TEXT_MAX])
{
	union net_addr a = { .family = range->cidr.family };
	uint8_t ip[16];
	size_t n = bytes_of(range);
	memcpy(ip, range->cidr.ip, n);
	for (size_t i = 0; i < 4; i++)
		ip[n - 1 - i] = (uint8_t)(ip[n - 1 - i] | (number >> 8 * i & 0xff));
	if (n == 4)
		memcpy(&a.v4.sin_addr, ip, n);
	else
		memcpy(&a.v6.sin6_addr, ip, n);
	net_addr_ip_str(&a, out);
}

/* The number of an address in the range, or -1. */
static int64_t number_of_address(const struct range *range, const union net_addr *addr)
{
	size_t n;
	const uint8_t *ip = net_addr_bytes(addr, &n);
	uint64_t number = 0;
	if (addr->family != range->cidr.family || !net_cidr_has(&range->cidr, addr))
		return -1;
	for (size_t i = 0; i < n; i++)
		number = number << 8 | (uint8_t)(ip[i] ^ range->cidr.ip[i]);
	return number >= range->first && number < range->end ? (int64_t)number : -1;
}

static bool is_taken(const struct range *range, uint32_t index)
{
	return (range->taken[index / 8] >> index % 8 & 1) != 0;
}

static void set_taken(struct range *range, uint32_t index, bool taken)
{
	assert(index < range->end);
	uint8_t bit = (uint8_t)(1U << index % 8);
	range->taken[index / 8] =
		(uint8_t)(taken ? range->taken[index / 8] | bit : range->taken[index / 8] & ~bit);
}

/* ---- new and free ---- */

static int add_range(struct apiserver_allocator *allocator, const char *text, struct err_text err)
{
	struct range *range = &allocator->range[allocator->n_ranges];
	if (allocator->n_ranges == APISERVER_CIDRS_MAX) {
		err_text_set(err, "more than %d service networks", APISERVER_CIDRS_MAX);
		return ERR_LIMIT;
	}
	if (net_cidr_parse(slice_of(text), &range->cidr) < 0) {
		err_text_set(err, "'%s' is not a network", text);
		return ERR_PARSE;
	}
	unsigned host_bits = (unsigned)(bytes_of(range) * 8 - range->cidr.bits);
	if (host_bits < 2) {
		err_text_set(err, "'%s' is too small for Services", text);
		return ERR_PARSE;
	}
	uint32_t size = host_bits >= 20 ? APISERVER_ADDRESSES_MAX : 1U << host_bits;
	range->first = 1;
	/* The last address of an IPv4 network is its broadcast. */
	range->end = range->cidr.family == AF_INET && host_bits <= 20 ? size - 1 : size;
	range->band = MIN(MAX((uint32_t)BAND_MIN, size / BAND_SHARE), (uint32_t)BAND_MAX);
	if (range->band >= range->end - 1)
		range->band = range->first;
	range->taken = xcalloc(size / 8 + 1, 1);
	allocator->n_ranges++;
	return 0;
}

int apiserver_allocator_new(const char *const *cidrs, struct apiserver_allocator **ret,
			    struct err_text err)
{
	struct apiserver_allocator *allocator = xcalloc(1, sizeof(*allocator));
	int e = 0;
	pthread_mutex_init(&allocator->lock, NULL);
	rng_init(&allocator->rng);
	allocator->ports = (struct range){ .end = PORTS, .band = PORT_BAND };
	allocator->ports.taken = xcalloc(PORTS / 8 + 1, 1);
	for (size_t i = 0; e == 0 && cidrs[i] != NULL; i++)
		e = add_range(allocator, cidrs[i], err);
	if (e < 0) {
		apiserver_allocator_free(allocator);
		return e;
	}
	format_address(&allocator->range[0], 1, allocator->first);
	*ret = allocator;
	return 0;
}

void apiserver_allocator_free(struct apiserver_allocator *allocator)
{
	if (allocator == NULL)
		return;
	for (size_t i = 0; i < allocator->n_ranges; i++)
		free(allocator->range[i].taken);
	free(allocator->ports.taken);
	pthread_mutex_destroy(&allocator->lock);
	free(allocator);
}

const char *apiserver_allocator_first_address(const struct apiserver_allocator *allocator)
{
	return allocator->first;
}

/* ---- addresses ---- */

static int take_wanted_address(struct range *range, const char *want, char *ret, size_t ret_n)
{
	union net_addr addr;
	if (net_addr_parse_ip(slice_of(want), &addr) < 0)
		return ERR_RANGE;
	int64_t number = number_of_address(range, &addr);
	if (number < 0)
		return ERR_RANGE;
	if (is_taken(range, (uint32_t)number))
		return ERR_CONFLICT;
	set_taken(range, (uint32_t)number, true);
	snprintf(ret, ret_n, "%s", want);
	return 0;
}

/* Takes the first free number in [from, to), beginning at a random one. */
static bool take_free(struct apiserver_allocator *allocator, struct range *range, uint32_t from,
		      uint32_t to, uint32_t *ret)
{
	uint32_t n = to - from, start = n != 0 ? rng_below(&allocator->rng, n) : 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t number = from + (start + i) % n;
		if (is_taken(range, number))
			continue;
		set_taken(range, number, true);
		*ret = number;
		return true;
	}
	return false;
}

static bool take_any_free(struct apiserver_allocator *allocator, struct range *range, uint32_t *ret)
{
	return take_free(allocator, range, range->band, range->end, ret) ||
	       take_free(allocator, range, range->first, range->band, ret);
}

static int take_any_address(struct apiserver_allocator *allocator, struct range *range, char *ret,
			    size_t ret_n)
{
	char text[NET_ADDR_TEXT_MAX];
	uint32_t number;
	if (!take_any_free(allocator, range, &number))
		return ERR_SPACE;
	format_address(range, number, text);
	snprintf(ret, ret_n, "%s", text);
	return 0;
}

int apiserver_allocator_take_address(void *ctx, int family, const char *want, char *ret,
				     size_t ret_n)
{
	struct apiserver_allocator *allocator = ctx;
	int e = ERR_RANGE;
	pthread_mutex_lock(&allocator->lock);
	for (size_t i = 0; i < allocator->n_ranges; i++) {
		struct range *range = &allocator->range[i];
		if (range->cidr.family != (family == 6 ? AF_INET6 : AF_INET))
			continue;
		e = want[0] != '\0' ? take_wanted_address(range, want, ret, ret_n)
				    : take_any_address(allocator, range, ret, ret_n);
		break;
	}
	pthread_mutex_unlock(&allocator->lock);
	return e;
}

void apiserver_allocator_release_address(void *ctx, const char *address)
{
	struct apiserver_allocator *allocator = ctx;
	union net_addr addr;
	if (net_addr_parse_ip(slice_of(address), &addr) < 0)
		return;
	pthread_mutex_lock(&allocator->lock);
	for (size_t i = 0; i < allocator->n_ranges; i++) {
		int64_t number = number_of_address(&allocator->range[i], &addr);
		if (number >= 0)
			set_taken(&allocator->range[i], (uint32_t)number, false);
	}
	pthread_mutex_unlock(&allocator->lock);
}

/* ---- node ports ---- */

static int take_port_locked(struct apiserver_allocator *allocator, unsigned want, unsigned *ret)
{
	uint32_t number = want - APISERVER_NODE_PORT_MIN;
	if (want == 0) {
		if (!take_any_free(allocator, &allocator->ports, &number))
			return ERR_SPACE;
	} else if (want < APISERVER_NODE_PORT_MIN || want > APISERVER_NODE_PORT_MAX) {
		return ERR_RANGE;
	} else if (is_taken(&allocator->ports, number)) {
		return ERR_CONFLICT;
	}
	set_taken(&allocator->ports, number, true);
	*ret = APISERVER_NODE_PORT_MIN + number;
	return 0;
}

int apiserver_allocator_take_port(void *ctx, unsigned want, unsigned *ret)
{
	struct apiserver_allocator *allocator = ctx;
	pthread_mutex_lock(&allocator->lock);
	int e = take_port_locked(allocator, want, ret);
	pthread_mutex_unlock(&allocator->lock);
	return e;
}

void apiserver_allocator_release_port(void *ctx, unsigned port)
{
	struct apiserver_allocator *allocator = ctx;
	if (port < APISERVER_NODE_PORT_MIN || port > APISERVER_NODE_PORT_MAX)
		return;
	pthread_mutex_lock(&allocator->lock);
	set_taken(&allocator->ports, port - APISERVER_NODE_PORT_MIN, false);
	pthread_mutex_unlock(&allocator->lock);
}
