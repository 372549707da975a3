/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A table of hosts by name and by parent, and the life of their addresses. */
#include "controller/egressfirewall/tracked.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/egress/name.h"
#include "api/egress/range.h"
#include "base/clock.h"
#include "base/mem.h"
#include "controller/egressfirewall/counters.h"

struct children {
	VEC(struct tracked_host *) hosts;
};

/* ---- the table ---- */

void tracked_init(struct tracked_hosts *hosts)
{
	map_init(&hosts->by_name);
	map_init(&hosts->by_parent);
	shares_init(&hosts->shares);
}

static void host_free(struct tracked_host *host)
{
	for (size_t i = 0; i < host->addresses.n; i++)
		free(host->addresses.v[i].canonical);
	vec_done(&host->addresses);
	free(host->name);
	free(host);
}

void tracked_done(struct tracked_hosts *hosts)
{
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(&hosts->by_name, &pos)) != NULL)
		host_free(entry->value);
	pos = 0;
	while ((entry = map_next(&hosts->by_parent, &pos)) != NULL) {
		struct children *children = entry->value;
		vec_done(&children->hosts);
		free(children);
	}
	map_done(&hosts->by_name);
	map_done(&hosts->by_parent);
	shares_done(&hosts->shares);
}

struct tracked_host *tracked_find(const struct tracked_hosts *hosts, const char *name)
{
	return map_get(&hosts->by_name, slice_of(name));
}

/* What follows the first label; "" for a single one. */
static struct slice parent_of(const char *name)
{
	const char *dot = strchr(name, '.');
	return slice_of(dot != NULL ? dot + 1 : "");
}

struct tracked_host *tracked_add(struct tracked_hosts *hosts, const char *name,
				 const struct tracked_now *now)
{
	struct tracked_host *host = tracked_find(hosts, name);
	struct slice parent = parent_of(name);
	if (host != NULL)
		return host;
	struct children *children = map_get(&hosts->by_parent, parent);
	if (children == NULL) {
		children = xcalloc(1, sizeof(*children));
		map_set(&hosts->by_parent, parent, children);
	}
	host = xcalloc(1, sizeof(*host));
	host->name = xstrdup(name);
	host->next_lookup_ns = now->mono_ns;
	vec_push(&children->hosts, host);
	map_set(&hosts->by_name, slice_of(name), host);
	return host;
}

struct tracked_host *tracked_add_learnt(struct tracked_hosts *hosts, const char *name,
					const char *wildcard, uint64_t client_id,
					const struct tracked_now *now)
{
	struct tracked_host *host = tracked_find(hosts, name);
	if (host != NULL || !shares_have_room(&hosts->shares, wildcard))
		return host;
	host = tracked_add(hosts, name, now);
	host->place.client_id = client_id;
	shares_join(&hosts->shares, &host->place, wildcard);
	return host;
}

void tracked_set_regular(struct tracked_hosts *hosts, struct tracked_host *host, bool is_regular,
			 const char *wildcard)
{
	host->is_regular = is_regular;
	if (is_regular || wildcard == NULL)
		shares_leave(&hosts->shares, &host->place);
	else
		shares_join(&hosts->shares, &host->place, wildcard);
}

void tracked_remove(struct tracked_hosts *hosts, struct tracked_host *host)
{
	struct slice parent = parent_of(host->name);
	struct children *children = map_get(&hosts->by_parent, parent);
	size_t i = 0;
	assert(children != NULL);
	while (children->hosts.v[i] != host)
		i++;
	children->hosts.v[i] = children->hosts.v[--children->hosts.n];
	if (children->hosts.n == 0) {
		map_del(&hosts->by_parent, parent);
		vec_done(&children->hosts);
		free(children);
	}
	shares_leave(&hosts->shares, &host->place);
	map_del(&hosts->by_name, slice_of(host->name));
	host_free(host);
}

struct tracked_host *tracked_oldest_for(const struct tracked_hosts *hosts, const char *wildcard,
					uint64_t client_id)
{
	struct shares_place *place = shares_oldest_for(&hosts->shares, wildcard, client_id);
	return place != NULL ? CONTAINER_OF(place, struct tracked_host, place) : NULL;
}

void tracked_each_below(const struct tracked_hosts *hosts, const char *parent, bool any_depth,
			void (*fn)(void *ctx, struct tracked_host *host), void *ctx)
{
	const struct map_entry *entry;
	size_t pos = 0;
	if (!any_depth) {
		const struct children *children = map_get(&hosts->by_parent, slice_of(parent));
		for (size_t i = 0; children != NULL && i < children->hosts.n; i++)
			fn(ctx, children->hosts.v[i]);
		return;
	}
	while ((entry = map_next(&hosts->by_name, &pos)) != NULL) {
		if (egress_name_is_covered(entry->key, parent, true))
			fn(ctx, entry->value);
	}
}

/* ---- addresses ---- */

static int compare_addresses(const struct tracked_address *left,
			     const struct tracked_address *right)
{
	if (left->n != right->n)
		return left->n < right->n ? -1 : 1;
	return memcmp(left->bytes, right->bytes, left->n);
}

/* Where the address is or belongs; whether it is there. */
static bool find_place(const struct tracked_host *host, const struct tracked_address *address,
		       size_t *ret)
{
	size_t low = 0, high = host->addresses.n;
	while (low < high) {
		size_t mid = (low + high) / 2;
		int order = compare_addresses(&host->addresses.v[mid], address);
		if (order == 0) {
			*ret = mid;
			return true;
		}
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	*ret = low;
	return false;
}

static void remove_at(struct tracked_host *host, size_t index)
{
	free(host->addresses.v[index].canonical);
	host->addresses.n--;
	memmove(&host->addresses.v[index], &host->addresses.v[index + 1],
		(host->addresses.n - index) * sizeof(*host->addresses.v));
}

/* NULL: there are too many. Copies `canonical`, which may be NULL or the host's own name. */
static struct tracked_address *insert_at(struct tracked_host *host, size_t index,
					 const struct tracked_address *address,
					 const char *canonical)
{
	if (host->addresses.n >= TRACKED_ADDRESSES_MAX)
		return NULL;
	vec_reserve_one(&host->addresses);
	memmove(&host->addresses.v[index + 1], &host->addresses.v[index],
		(host->addresses.n - index) * sizeof(*host->addresses.v));
	host->addresses.n++;
	host->addresses.v[index] = *address;
	host->addresses.v[index].canonical = NULL;
	if (canonical != NULL && strcmp(canonical, host->name) != 0)
		host->addresses.v[index].canonical = xstrdup(canonical);
	return &host->addresses.v[index];
}

static uint32_t bounded_ttl(uint32_t ttl_s)
{
	return MIN(MAX(ttl_s, (uint32_t)TRACKED_TTL_MIN_S), (uint32_t)TRACKED_TTL_MAX_S);
}

/* EF-S4: cached answers count down, and each server has another TTL. Only a TTL that is longer than
 * reported by half, or a lookup that is due before half of the reported one, says something new. */
static bool is_news(const struct tracked_address *address, uint32_t ttl_s, uint64_t lookup_ns)
{
	uint32_t drift_s = MAX((uint32_t)TRACKED_TTL_MIN_S, address->ttl_s / 2);
	return ttl_s > address->ttl_s + drift_s ||
	       address->lookup_ns > lookup_ns + drift_s * NS_PER_S;
}

static bool renew_address(struct tracked_address *address, uint32_t ttl_s,
			  const struct tracked_now *now)
{
	uint64_t expires_ns = now->mono_ns + bounded_ttl(ttl_s) * NS_PER_S;
	uint64_t lookup_ns = now->wall_ns + bounded_ttl(ttl_s) * NS_PER_S;
	address->missing = false;
	/* Another server may have given it to a client for longer. */
	address->expires_ns = MAX(address->expires_ns, expires_ns);
	if (!is_news(address, ttl_s, lookup_ns))
		return false;
	address->ttl_s = ttl_s;
	address->lookup_ns = lookup_ns;
	return true;
}

static bool read_address(const union net_addr *addr, struct tracked_address *ret)
{
	size_t n;
	const uint8_t *bytes = net_addr_bytes(addr, &n);
	assert(n == 4 || n == 16);
	*ret = (struct tracked_address){ .n = (uint8_t)n };
	memcpy(ret->bytes, bytes, n);
	return !egress_range_is_never_learnt(bytes, n);
}

static bool add_address(struct tracked_host *host, size_t index,
			const struct tracked_sighting *sighting, struct tracked_address *address,
			const struct tracked_now *now)
{
	bool has_first = sighting->first_ns != 0 && sighting->first_ns < now->wall_ns;
	address->ttl_s = MIN(sighting->ttl_s, (uint32_t)TRACKED_TTL_MAX_S);
	address->lookup_ns = now->wall_ns + bounded_ttl(sighting->ttl_s) * NS_PER_S;
	address->expires_ns = now->mono_ns + bounded_ttl(sighting->ttl_s) * NS_PER_S;
	address->first_ns = has_first ? sighting->first_ns : now->wall_ns;
	return insert_at(host, index, address, sighting->canonical) != NULL;
}

bool tracked_host_learn(struct tracked_host *host, const struct tracked_sighting *sighting,
			const struct tracked_now *now)
{
	struct tracked_address address;
	size_t index;
	if (!read_address(sighting->address, &address)) {
		egressfirewall_counters_add(EGRESSFIREWALL_NEVER_LEARNT);
		return false;
	}
	if (find_place(host, &address, &index))
		return renew_address(&host->addresses.v[index],
				     MIN(sighting->ttl_s, (uint32_t)TRACKED_TTL_MAX_S), now);
	return add_address(host, index, sighting, &address, now);
}

bool tracked_host_answer(struct tracked_host *host, const struct tracked_answer *answer,
			 const struct tracked_now *now)
{
	uint8_t n = answer->family == AF_INET ? 4 : 16;
	bool changed = false;
	for (size_t i = 0; i < host->addresses.n; i++) {
		if (host->addresses.v[i].n == n)
			host->addresses.v[i].missing = true;
	}
	for (size_t i = 0; i < answer->n; i++) {
		assert(answer->addresses[i].family == answer->family);
		struct tracked_sighting sighting = { .address = &answer->addresses[i],
						     .ttl_s = answer->ttl_s,
						     .canonical = answer->canonical };
		changed = tracked_host_learn(host, &sighting, now) || changed;
	}
	return changed;
}

bool tracked_host_leave_out(struct tracked_host *host, const union net_addr *address)
{
	char text[NET_ADDR_TEXT_MAX] = "";
	if (address != NULL)
		net_addr_ip_str(address, text);
	if (strcmp(host->left_out, text) == 0)
		return false;
	snprintf(host->left_out, sizeof(host->left_out), "%.*s", (int)sizeof(host->left_out) - 1,
		 text);
	return host->addresses.n == 0;
}

void tracked_host_restore(struct tracked_host *host, const struct tracked_address *address,
			  const char *canonical, const struct tracked_now *now)
{
	size_t index;
	if (find_place(host, address, &index))
		return;
	struct tracked_address *added = insert_at(host, index, address, canonical);
	if (added == NULL)
		return;
	uint64_t left_ns = added->lookup_ns > now->wall_ns ? added->lookup_ns - now->wall_ns : 0;
	left_ns = MIN(left_ns, TRACKED_TTL_MAX_S * NS_PER_S);
	added->expires_ns = now->mono_ns + left_ns;
	host->next_lookup_ns = host->addresses.n == 1
				       ? added->expires_ns
				       : MIN(host->next_lookup_ns, added->expires_ns);
}

/* ---- time ---- */

static uint64_t spread_ns(uint64_t whole_ns, uint32_t spread)
{
	assert(spread < TRACKED_SPREAD);
	return whole_ns + whole_ns / 10 * spread / TRACKED_SPREAD;
}

bool tracked_host_looked_up(struct tracked_host *host, uint32_t ttl_s, uint32_t spread,
			    const struct tracked_now *now)
{
	bool recovered = host->failures != 0;
	uint32_t wait_s = bounded_ttl(ttl_s);
	if (host->addresses.n == 0)
		wait_s = MIN(wait_s, (uint32_t)TRACKED_EMPTY_S);
	host->next_lookup_ns = now->mono_ns + spread_ns(wait_s * NS_PER_S, spread);
	host->failures = 0;
	host->answered = true;
	host->error[0] = '\0';
	return recovered;
}

bool tracked_host_failed(struct tracked_host *host, const char *error, uint32_t spread,
			 const struct tracked_now *now)
{
	uint64_t wait_s = TRACKED_RETRY_S;
	for (unsigned i = 0; i < host->failures && wait_s < TRACKED_RETRY_MAX_S; i++)
		wait_s *= 2;
	wait_s = MIN(wait_s, (uint64_t)TRACKED_RETRY_MAX_S);
	host->next_lookup_ns = now->mono_ns + spread_ns(wait_s * NS_PER_S, spread);
	snprintf(host->error, sizeof(host->error), "%s", error);
	return host->failures++ == 0;
}

static bool may_expire(const struct tracked_host *host, const struct tracked_address *address)
{
	return address->missing || host->failures >= TRACKED_FAILURES_MAX;
}

bool tracked_host_expire(struct tracked_host *host, const struct tracked_now *now)
{
	size_t before = host->addresses.n;
	for (size_t i = host->addresses.n; i-- > 0;) {
		const struct tracked_address *address = &host->addresses.v[i];
		if (may_expire(host, address) &&
		    now->mono_ns >= address->expires_ns + TRACKED_GRACE_S * NS_PER_S)
			remove_at(host, i);
	}
	return host->addresses.n != before;
}

uint64_t tracked_host_due_ns(const struct tracked_host *host)
{
	uint64_t due_ns = host->next_lookup_ns;
	for (size_t i = 0; i < host->addresses.n; i++) {
		const struct tracked_address *address = &host->addresses.v[i];
		if (may_expire(host, address))
			due_ns = MIN(due_ns, address->expires_ns + TRACKED_GRACE_S * NS_PER_S);
	}
	return due_ns;
}

bool tracked_host_is_spent(const struct tracked_host *host)
{
	return !host->is_regular && host->addresses.n == 0 &&
	       (host->answered || host->failures >= TRACKED_FAILURES_MAX);
}

uint64_t tracked_host_expires_ns(const struct tracked_host *host)
{
	uint64_t latest = 0;
	for (size_t i = 0; i < host->addresses.n; i++)
		latest = MAX(latest, host->addresses.v[i].expires_ns);
	return latest;
}
