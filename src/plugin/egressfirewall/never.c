/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sets of addresses that are not learnt. */
#include "plugin/egressfirewall/never.h"

#include <assert.h>
#include <string.h>

#include "api/egress/range.h"
#include "base/strbuf.h"
#include "plugin/egressfirewall/store.h"

/* Not unicast addresses of other hosts: RFC 1122, 3927, 4291, 5771. The ranges of a cluster are
 * named by the stanza. */
static const char *const always[] = {
	"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3",
	"::/127",    "fe80::/10",   "ff00::/8",
};

static struct net_ip_ranges *set_of(struct egressfirewall_never *never, sa_family_t family)
{
	return family == AF_INET ? &never->v4 : &never->v6;
}

static union net_addr address_of(const uint8_t *ip, sa_family_t family)
{
	union net_addr addr = { .family = family };
	if (family == AF_INET)
		memcpy(&addr.v4.sin_addr, ip, 4);
	else
		memcpy(&addr.v6.sin6_addr, ip, 16);
	return addr;
}

static struct net_ip_range range_of(const struct net_cidr *cidr)
{
	union net_addr addr = address_of(cidr->ip, cidr->family);
	return net_ip_range_of_network(cidr->family, net_ip_number_of(&addr), cidr->bits);
}

void egressfirewall_never_init(struct egressfirewall_never *never,
			       const struct egressfirewall_networks *more,
			       const struct egressfirewall_networks *learn)
{
	*never = (struct egressfirewall_never){ { 0 }, { 0 } };
	for (size_t i = 0; i < ARRAY_LEN(always); i++) {
		struct net_cidr cidr;
		int r = net_cidr_parse(slice_of(always[i]), &cidr);
		assert(r == 0);
		net_ip_ranges_add(set_of(never, cidr.family), range_of(&cidr));
	}
	for (size_t i = 0; i < more->n; i++)
		net_ip_ranges_add(set_of(never, more->v[i].family), range_of(&more->v[i]));
	for (size_t i = 0; i < learn->n; i++)
		net_ip_ranges_remove(set_of(never, learn->v[i].family), range_of(&learn->v[i]));
}

void egressfirewall_never_done(struct egressfirewall_never *never)
{
	net_ip_ranges_done(&never->v4);
	net_ip_ranges_done(&never->v6);
}

static bool has_number(const struct net_ip_ranges *set, const uint8_t *ip, sa_family_t family)
{
	union net_addr addr = address_of(ip, family);
	return net_ip_ranges_has(set, net_ip_number_of(&addr));
}

bool egressfirewall_never_learns(const struct egressfirewall_never *never, const uint8_t *ip,
				 uint8_t ip_n)
{
	if (ip_n == 4)
		return has_number(&never->v4, ip, AF_INET);
	const uint8_t *carried = egress_range_carried_ipv4(ip, ip_n);
	return (carried != NULL && has_number(&never->v4, carried, AF_INET)) ||
	       has_number(&never->v6, ip, AF_INET6);
}

void egressfirewall_networks_add(struct strbuf *out, const struct egressfirewall_networks *networks)
{
	strbuf_addf(out, " %zu", networks->n);
	for (size_t i = 0; i < networks->n; i++) {
		const struct net_cidr *cidr = &networks->v[i];
		strbuf_addf(out, " %d/", cidr->bits);
		for (size_t k = 0; k < sizeof(cidr->ip); k++)
			strbuf_addf(out, "%02x", cidr->ip[k]);
	}
}
