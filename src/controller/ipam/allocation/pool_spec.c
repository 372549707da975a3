/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pools of addresses: checks a pool's spec, and computes which of its addresses may be allocated. */
#include "controller/ipam/allocation/pool_spec.h"

#include <stdio.h>

#include "api/machine/nameservers.h"
#include "api/meta.h"
#include "api/tree.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"

#define RANGE_FORMS "must be an IP address, a range 'first-last' or a network 'address/length'"

enum { PATH_MAX_BYTES = 96 };

static void add_invalid(struct api_errors *errors, const char *field, const json_t *value,
			const char *detail)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	api_fielderr_value(&text, value);
	api_errors_add(errors, API_FIELD_INVALID, field, strbuf_slice(&text).p, detail);
}

/* ---- lists of addresses ---- */

/* Why an entry cannot be read. */
static const char *explain_range(struct slice text)
{
	struct slice last = text, first = slice_cut(&last, '-');
	sa_family_t first_family, last_family;
	struct net_ip_range low, high;
	if (slice_find(text, '%') >= 0)
		return RANGE_FORMS "; zones are not allowed";
	if (last.p != NULL && net_ip_range_parse(first, &first_family, &low) == 0 &&
	    net_ip_range_parse(last, &last_family, &high) == 0 && first_family == last_family &&
	    high.first < low.first)
		return RANGE_FORMS "; the range ends before it begins";
	return RANGE_FORMS;
}

/* Adds the list's ranges to the set. *family is that of the first entry of all lists; entries of the
 * other one, and what is no range, are errors at their place. */
static void read_ranges(const json_t *list, const char *field, sa_family_t *family,
			struct net_ip_ranges *set, struct api_errors *errors)
{
	size_t i;
	json_t *entry;
	json_array_foreach (api_tree(list), i, entry) {
		char path[PATH_MAX_BYTES];
		sa_family_t own;
		struct net_ip_range range;
		snprintf(path, sizeof(path), "%s[%zu]", field, i);
		if (net_ip_range_parse(api_text_slice(entry), &own, &range) < 0) {
			add_invalid(errors, path, entry, explain_range(api_text_slice(entry)));
		} else if (*family != AF_UNSPEC && own != *family) {
			add_invalid(errors, path, entry,
				    "all addresses of a pool must be of one family: IPv4 or IPv6");
		} else {
			*family = own;
			net_ip_ranges_add(set, range);
		}
	}
}

static void read_gateway(const json_t *spec, struct ipam_pool_spec *pool, struct api_errors *errors)
{
	const json_t *gateway = json_object_get(spec, "gateway");
	sa_family_t family;
	struct net_ip_range range;
	if (api_text(gateway)[0] == '\0')
		return;
	if (net_ip_range_parse(api_text_slice(gateway), &family, &range) < 0 ||
	    range.first != range.last) {
		add_invalid(errors, "spec.gateway", gateway, "must be an IP address");
	} else if (pool->family != AF_UNSPEC && family != pool->family) {
		add_invalid(errors, "spec.gateway", gateway,
			    "must be of the same family as the addresses");
	} else {
		pool->has_gateway = true;
		pool->gateway = range.first;
	}
}

/* ---- the network ---- */

static unsigned family_bits(sa_family_t family)
{
	return family == AF_INET ? 32 : 128;
}

/* The network is that of the lowest address: the spec has only its length. */
static struct net_ip_range network_of(const struct ipam_pool_spec *pool)
{
	net_ip_number lowest = 0;
	bool any = net_ip_ranges_lowest(&pool->addresses, &lowest);
	return any ? net_ip_range_of_network(pool->family, lowest, pool->prefix)
		   : (struct net_ip_range){ 0, 0 };
}

static void check_prefix(const json_t *spec, struct ipam_pool_spec *pool, struct api_errors *errors)
{
	const json_t *prefix = json_object_get(spec, "prefix");
	json_int_t bits = json_integer_value(prefix);
	json_int_t most = pool->family == AF_UNSPEC ? 128 : (json_int_t)family_bits(pool->family);
	char detail[64];
	if (!json_is_integer(prefix)) {
		api_errors_add(errors, API_FIELD_REQUIRED, "spec.prefix", NULL, "");
	} else if (bits < 0 || bits > most) {
		snprintf(detail, sizeof(detail), "must be a prefix length, 0 to %d", (int)most);
		add_invalid(errors, "spec.prefix", prefix, detail);
	} else {
		pool->prefix = (unsigned)bits;
	}
}

/* Every entry lies in the network of the lowest address. */
static void check_one_network(const json_t *spec, const struct ipam_pool_spec *pool,
			      struct api_errors *errors)
{
	struct net_ip_range network = network_of(pool);
	size_t i;
	json_t *entry;
	json_array_foreach (json_object_get(spec, "addresses"), i, entry) {
		char path[PATH_MAX_BYTES], detail[96];
		sa_family_t family;
		struct net_ip_range range;
		IGNORE(net_ip_range_parse(api_text_slice(entry), &family,
					  &range)); /* was read before */
		if (range.first >= network.first && range.last <= network.last)
			continue;
		snprintf(path, sizeof(path), "spec.addresses[%zu]", i);
		snprintf(detail, sizeof(detail),
			 "must be in the /%u network of the pool's lowest address", pool->prefix);
		add_invalid(errors, path, entry, detail);
	}
}

/* ---- name servers ---- */

/* IP-16: what a guest could not use is refused here, before an address carries it. */
static void check_nameservers(const json_t *spec, struct api_errors *errors)
{
	const json_t *nameservers = json_object_get(spec, "nameservers");
	struct arena arena;
	arena_init(&arena);
	struct machine_problems problems = { .arena = &arena };
	struct machine_nameservers read = { 0 };
	machine_read_nameservers(nameservers, NULL, "spec.nameservers", &problems, &read);
	for (size_t i = 0; i < problems.n; i++) {
		if (!problems.v[i].warning)
			api_errors_add(errors, API_FIELD_INVALID, problems.v[i].field, NULL,
				       problems.v[i].text);
	}
	arena_done(&arena);
}

/* ---- pools of prefixes ---- */

static bool add_range(void *ctx, struct net_ip_range range)
{
	net_ip_ranges_add(ctx, range);
	return true;
}

enum { PREFIX_LENGTH_MIN = 1, PREFIX_LENGTH_DEFAULT = 64, PREFIX_LENGTH_MAX = 128 };

static void read_allocation_length(const json_t *spec, struct ipam_pool_spec *pool,
				   struct api_errors *errors)
{
	const json_t *length = json_object_get(spec, "allocationPrefixLength");
	json_int_t bits = length != NULL ? json_integer_value(length) : PREFIX_LENGTH_DEFAULT;
	pool->prefix = PREFIX_LENGTH_DEFAULT;
	if ((length != NULL && !json_is_integer(length)) || bits < PREFIX_LENGTH_MIN ||
	    bits > PREFIX_LENGTH_MAX)
		add_invalid(errors, "spec.allocationPrefixLength", length,
			    "must be a prefix length, 1 to 128");
	else
		pool->prefix = (unsigned)bits;
	pool->bits = (uint8_t)(PREFIX_LENGTH_MAX - pool->prefix);
}

/* Why a network cannot be one of the pool; NULL: it can. */
static const char *check_network(struct slice text, const struct ipam_pool_spec *pool,
				 struct net_ip_range *ret)
{
	sa_family_t family;
	struct slice address = text;
	union net_addr first;
	if (slice_find(text, '/') < 0 || net_ip_range_parse(text, &family, ret) < 0)
		return "must be an IPv6 network 'address/length'";
	if (family != AF_INET6)
		return "must be an IPv6 network: pools of prefixes have no IPv4 addresses";
	address = slice_cut(&address, '/');
	if (net_addr_parse_ip(address, &first) < 0 || net_ip_number_of(&first) != ret->first)
		return "must begin at the first address of its network";
	if (((ret->last - ret->first) & ipam_block_mask(pool->bits)) != ipam_block_mask(pool->bits))
		return "must not be longer than spec.allocationPrefixLength";
	return NULL;
}

static void read_networks(const json_t *list, struct ipam_pool_spec *pool,
			  struct api_errors *errors)
{
	size_t i;
	json_t *entry;
	json_array_foreach (api_tree(list), i, entry) {
		char path[PATH_MAX_BYTES];
		struct net_ip_range range;
		const char *why = check_network(api_text_slice(entry), pool, &range);
		snprintf(path, sizeof(path), "spec.prefixes[%zu]", i);
		if (why != NULL)
			add_invalid(errors, path, entry, why);
		else
			net_ip_ranges_add(&pool->addresses, range);
	}
}

/* It is copied to addresses, and keeps no prefix from being allocated. */
static void check_informal_gateway(const json_t *spec, struct api_errors *errors)
{
	const json_t *gateway = json_object_get(spec, "gateway");
	union net_addr addr;
	if (api_text(gateway)[0] != '\0' &&
	    (net_addr_parse_ip(api_text_slice(gateway), &addr) < 0 || addr.family != AF_INET6))
		add_invalid(errors, "spec.gateway", gateway, "must be an IPv6 address");
}

static bool exclude_blocks(void *ctx, struct net_ip_range range)
{
	struct ipam_pool_spec *pool = ctx;
	net_ip_ranges_remove(&pool->usable, ipam_block_widen(range, pool->bits));
	return true;
}

static void read_prefix_spec(const json_t *spec, struct ipam_pool_spec *pool,
			     struct api_errors *errors)
{
	CLEANUP(net_ip_ranges_done) struct net_ip_ranges excluded = { 0 };
	const json_t *prefixes = json_object_get(spec, "prefixes");
	*pool = (struct ipam_pool_spec){ .family = AF_INET6,
					 .is_of_prefixes = true,
					 .allows_reserved = true };
	if (json_array_size(prefixes) == 0)
		api_errors_add(errors, API_FIELD_REQUIRED, "spec.prefixes", NULL,
			       "a pool needs at least one prefix");
	read_allocation_length(spec, pool, errors);
	read_networks(prefixes, pool, errors);
	read_ranges(json_object_get(spec, "excludedPrefixes"), "spec.excludedPrefixes",
		    &pool->family, &excluded, errors);
	check_informal_gateway(spec, errors);
	check_nameservers(spec, errors);
	if (errors->n != 0)
		return;
	net_ip_ranges_each(&pool->addresses, add_range, &pool->usable);
	net_ip_ranges_each(&excluded, exclude_blocks, pool);
	pool->all_excluded = net_ip_ranges_count(&pool->usable) == 0;
}

/* ---- both ways to call it ---- */

static void remove_one(struct net_ip_ranges *set, net_ip_number number)
{
	net_ip_ranges_remove(set, (struct net_ip_range){ number, number });
}

static bool remove_range(void *ctx, struct net_ip_range range)
{
	net_ip_ranges_remove(ctx, range);
	return true;
}

static void compute_usable(const json_t *spec, const struct net_ip_ranges *excluded,
			   struct ipam_pool_spec *pool)
{
	struct net_ip_range network = network_of(pool);
	net_ip_ranges_each(&pool->addresses, add_range, &pool->usable);
	net_ip_ranges_each(excluded, remove_range, &pool->usable);
	pool->all_excluded = net_ip_ranges_count(&pool->usable) == 0;
	if (pool->has_gateway)
		remove_one(&pool->usable, pool->gateway);
	pool->allows_reserved = json_is_true(json_object_get(spec, "allocateReservedIPAddresses"));
	if (pool->allows_reserved)
		return;
	remove_one(&pool->usable, network.first);
	if (pool->family == AF_INET)
		remove_one(&pool->usable, network.last);
}

static const json_t *find_grace(const json_t *spec)
{
	return json_object_get(spec, "addressReuseGracePeriodSeconds");
}

int64_t ipam_pool_spec_grace(const json_t *spec)
{
	return MAX(json_integer_value(find_grace(spec)), 0);
}

static void read_address_spec(const json_t *spec, struct ipam_pool_spec *pool,
			      struct api_errors *errors)
{
	CLEANUP(net_ip_ranges_done) struct net_ip_ranges excluded = { 0 };
	const json_t *addresses = json_object_get(spec, "addresses");
	*pool = (struct ipam_pool_spec){ 0 };
	if (json_array_size(addresses) == 0)
		api_errors_add(errors, API_FIELD_REQUIRED, "spec.addresses", NULL,
			       "a pool needs at least one address");
	read_ranges(addresses, "spec.addresses", &pool->family, &pool->addresses, errors);
	read_gateway(spec, pool, errors);
	read_ranges(json_object_get(spec, "excludedAddresses"), "spec.excludedAddresses",
		    &pool->family, &excluded, errors);
	check_prefix(spec, pool, errors);
	pool->grace_s = ipam_pool_spec_grace(spec);
	if (json_integer_value(find_grace(spec)) < 0)
		add_invalid(errors, "spec.addressReuseGracePeriodSeconds", find_grace(spec),
			    "must not be negative");
	check_nameservers(spec, errors);
	if (errors->n == 0)
		check_one_network(spec, pool, errors);
	if (errors->n == 0)
		compute_usable(spec, &excluded, pool);
}

static void read_spec(const json_t *spec, struct ipam_pool_spec *pool, struct api_errors *errors)
{
	if (json_object_get(spec, "prefixes") != NULL)
		read_prefix_spec(spec, pool, errors);
	else
		read_address_spec(spec, pool, errors);
}

void ipam_pool_spec_validate(const json_t *spec, struct api_errors *errors)
{
	struct ipam_pool_spec pool;
	CLEANUP(api_errors_done) struct api_errors own = { 0 };
	read_spec(spec, &pool, &own);
	ipam_pool_spec_done(&pool);
	api_errors_move(errors, &own);
}

int ipam_pool_spec_read(const json_t *spec, struct ipam_pool_spec *ret, struct err_text err)
{
	CLEANUP(api_errors_done) struct api_errors errors = { 0 };
	read_spec(spec, ret, &errors);
	if (errors.n == 0)
		return 0;
	err_text_set(err, "%s: %s", errors.v[0].field, errors.v[0].body);
	ipam_pool_spec_done(ret);
	return ERR_CONFIG;
}

bool ipam_pool_spec_has(const struct ipam_pool_spec *spec, struct ipam_block block)
{
	return block.family == spec->family && block.bits == spec->bits &&
	       net_ip_ranges_has(&spec->usable, block.first);
}

static const char *why_no_prefix(const struct ipam_pool_spec *spec, struct ipam_block block)
{
	if (!net_ip_ranges_has(&spec->addresses, block.first))
		return "is not in spec.prefixes";
	return block.bits != spec->bits ? "has another length than spec.allocationPrefixLength"
					: "has addresses of spec.excludedPrefixes";
}

const char *ipam_pool_spec_why_unusable(const struct ipam_pool_spec *spec, struct ipam_block block)
{
	struct net_ip_range network = network_of(spec);
	net_ip_number number = block.first;
	if (spec->is_of_prefixes)
		return why_no_prefix(spec, block);
	if (block.family != spec->family || !net_ip_ranges_has(&spec->addresses, number))
		return "is not in spec.addresses";
	if (spec->has_gateway && spec->gateway == number)
		return "is the gateway (spec.gateway)";
	if (!spec->allows_reserved && number == network.first)
		return "is reserved as the first one of its network "
		       "(spec.allocateReservedIPAddresses)";
	if (!spec->allows_reserved && spec->family == AF_INET && number == network.last)
		return "is reserved as the last one of its network "
		       "(spec.allocateReservedIPAddresses)";
	return "is among spec.excludedAddresses";
}

bool ipam_pool_spec_is_empty(const struct ipam_pool_spec *spec, struct err_text why)
{
	net_ip_number lowest;
	char text[NET_ADDR_TEXT_MAX];
	if (net_ip_ranges_lowest(&spec->usable, &lowest) ||
	    !net_ip_ranges_lowest(&spec->addresses, &lowest))
		return false;
	if (spec->is_of_prefixes) {
		err_text_set(why, "all its prefixes have addresses of spec.excludedPrefixes");
		return true;
	}
	bool only = net_ip_ranges_count(&spec->addresses) == 1;
	if (spec->all_excluded && !only) {
		err_text_set(why, "all its addresses are in spec.excludedAddresses");
		return true;
	}
	union net_addr addr = net_ip_from_number(spec->family, lowest);
	net_addr_ip_str(&addr, text);
	err_text_set(why, "%s, its %s address, %s", text, only ? "only" : "lowest",
		     spec->all_excluded ? "is among spec.excludedAddresses"
					: ipam_pool_spec_why_unusable(
						  spec, ipam_block_of_one(spec->family, lowest)));
	return true;
}

void ipam_pool_spec_done(struct ipam_pool_spec *spec)
{
	net_ip_ranges_done(&spec->addresses);
	net_ip_ranges_done(&spec->usable);
}
