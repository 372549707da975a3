/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Three sets of names: exact ones, parents of wildcards over one label, and parents of wildcards over any
 * number of labels. */
#include "plugin/egressfirewall/hold/firewall_names.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "api/egress/rules.h"
#include "base/mem.h"
#include "base/rcu/rcu.h"
#include "base/slice.h"
#include "base/vec.h"
#include "dns/name.h"
#include "dns/zone/zoneset.h"

struct egressfirewall_names {
	uint32_t number; /* first: the header looks there */
	/* Any may be NULL. Values are ids. */
	struct dns_zoneset *exact, *one_label, *deep;
	struct addrset_id *ids;
	struct rcu_item item;
};

/* A name, and whether wildcards of its firewall cover any number of labels. */
struct read_name {
	struct egress_name name;
	bool any_depth;
};

struct reading {
	VEC(struct read_name) names;
	bool any_depth;
};

static void add_name(void *ctx, const struct egress_name *name)
{
	struct reading *reading = ctx;
	struct read_name one = { .name = *name, .any_depth = reading->any_depth };
	vec_push(&reading->names, one);
}

static struct dns_zoneset **set_of(struct egressfirewall_names *names, bool is_wildcard,
				   bool any_depth)
{
	if (!is_wildcard)
		return &names->exact;
	return any_depth ? &names->deep : &names->one_label;
}

/* A name that several rules use gets several entries with the same id, of which one is returned. */
static void insert_name(struct egressfirewall_names *names, const struct egress_name *name,
			bool any_depth, uint32_t seq)
{
	struct dns_zoneset **set = set_of(names, name->is_wildcard, any_depth);
	char text[EGRESS_SET_TEXT_MAX];
	uint8_t wire[DNS_NAME_MAX];
	if (dns_name_from_text(slice_of(name->text), wire) < 0)
		return; /* egress_name_parse accepts none such */
	egress_name_set_text(name->text, name->is_wildcard, any_depth, text);
	names->ids[seq] = addrset_id_of(slice_of(text));
	if (*set == NULL)
		*set = dns_zoneset_new();
	dns_zoneset_add(*set, wire, seq, &names->ids[seq]);
}

struct egressfirewall_names *egressfirewall_names_new(const json_t *const *firewalls, size_t count)
{
	static atomic_uint last_number;
	struct reading reading = { { 0 }, false };
	struct egressfirewall_names *names = NULL;
	for (size_t i = 0; i < count; i++) {
		reading.any_depth = egress_rules_any_depth(firewalls[i]);
		egress_rules_each_name(firewalls[i], add_name, &reading);
	}
	if (reading.names.n != 0) {
		names = xcalloc(1, sizeof(*names));
		names->number = atomic_fetch_add(&last_number, 1) + 1;
		names->ids = xcalloc(reading.names.n, sizeof(*names->ids));
		for (size_t i = 0; i < reading.names.n; i++)
			insert_name(names, &reading.names.v[i].name, reading.names.v[i].any_depth,
				    (uint32_t)i);
	}
	vec_done(&reading.names);
	return names;
}

void egressfirewall_names_free(struct egressfirewall_names *names)
{
	if (names == NULL)
		return;
	dns_zoneset_free(names->exact);
	dns_zoneset_free(names->one_label);
	dns_zoneset_free(names->deep);
	free(names->ids);
	free(names);
}

static void free_retired(struct rcu_item *item)
{
	egressfirewall_names_free(CONTAINER_OF(item, struct egressfirewall_names, item));
}

void egressfirewall_names_retire(struct egressfirewall_names *names)
{
	if (names != NULL)
		rcu_defer(&names->item, free_retired);
}

size_t egressfirewall_names_match(const struct egressfirewall_names *names,
				  const struct dns_qname *qname, const struct addrset_id **out,
				  size_t max)
{
	const struct dns_zone_entry *entry = NULL;
	size_t n = 0;
	if (names->exact != NULL)
		entry = dns_zoneset_at(names->exact, qname, 0);
	if (entry != NULL && n < max)
		out[n++] = entry->value;
	entry = names->one_label != NULL && qname->n_labels != 0
			? dns_zoneset_at(names->one_label, qname, 1)
			: NULL;
	if (entry != NULL && n < max)
		out[n++] = entry->value;
	for (unsigned label = 1; names->deep != NULL && label <= qname->n_labels; label++) {
		entry = dns_zoneset_longest(names->deep, qname, label, &label);
		if (entry == NULL)
			break;
		if (n < max)
			out[n++] = entry->value;
	}
	return n;
}
