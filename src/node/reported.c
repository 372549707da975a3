/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads status.items of a DNSName. */
#include "node/reported.h"

#include <string.h>

#include "api/egress/name.h"
#include "api/egress/range.h"
#include "api/meta.h"
#include "api/tree.h"
#include "net/addr.h"
#include "node/firewall.h"

enum { PAIRS_MAX = 65536 }; /* of one object; the controller writes fewer */

struct reader {
	const char *name, *parent; /* NULL: it stands for no wildcard */
	bool is_regular, is_wildcard, any_depth;
	uint64_t until_ns;
	node_pairs *out;
};

static bool read_pair(const struct reader *reader, const json_t *info, struct addrset_pair *ret)
{
	union net_addr addr;
	size_t n;
	if (net_addr_parse_ip(api_text_slice(json_object_get(info, "ip")), &addr) < 0)
		return false;
	const uint8_t *bytes = net_addr_bytes(&addr, &n);
	if (egress_range_is_never_learnt(bytes, n))
		return false;
	*ret = (struct addrset_pair){ .address.n = (uint8_t)n, .until_ns = reader->until_ns };
	memcpy(ret->address.bytes, bytes, n);
	return true;
}

static void add_pair(const struct reader *reader, struct addrset_pair pair, const char *name,
		     bool is_wildcard, bool any_depth)
{
	if (reader->out->n >= PAIRS_MAX)
		return;
	pair.name = node_firewall_name_id(name, is_wildcard, any_depth);
	vec_push(reader->out, pair);
}

static void add_item(const struct reader *reader, const json_t *item)
{
	const char *host = api_get_string(item, "dnsname");
	const json_t *info;
	size_t i;
	bool is_own = reader->is_regular && strcmp(host, reader->name) == 0;
	bool is_wild = reader->is_wildcard && reader->parent != NULL;
	bool is_one_below = is_wild && egress_name_is_covered(host, reader->parent, false);
	bool is_below =
		is_wild && reader->any_depth && egress_name_is_covered(host, reader->parent, true);
	json_array_foreach (json_object_get(item, "info"), i, info) {
		struct addrset_pair pair;
		if (!read_pair(reader, info, &pair))
			continue;
		if (is_own)
			add_pair(reader, pair, reader->name, false, false);
		if (is_one_below)
			add_pair(reader, pair, reader->parent, true, false);
		if (is_below)
			add_pair(reader, pair, reader->parent, true, true);
	}
}

void node_reported_pairs(const json_t *dnsname, uint64_t until_ns, node_pairs *ret)
{
	const char *depth = api_annotation(dnsname, EGRESS_DEPTH_ANNOTATION);
	const json_t *item;
	size_t i;
	struct reader reader = {
		.name = api_name(dnsname),
		.parent = egress_name_below_wildcard(api_name(dnsname)),
		.is_regular = json_is_true(api_get(dnsname, "spec.isregular")),
		.is_wildcard = json_is_true(api_get(dnsname, "spec.iswildcard")),
		.any_depth = depth != NULL && strcmp(depth, EGRESS_DEPTH_ANY) == 0,
		.until_ns = until_ns,
		.out = ret,
	};
	json_array_foreach (api_get(dnsname, "status.items"), i, item)
		add_item(&reader, item);
}
