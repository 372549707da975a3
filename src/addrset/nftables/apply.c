/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The difference between the kernel's table and a plan, as one batch. Its order is that of references:
 * sets, chains and counters exist before rules name them, and go after the last that named them. */
#include "addrset/nftables/apply.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include <linux/netfilter/nf_tables.h>

#include "addrset/nftables/objects.h"
#include "addrset/nftables/rule_expr.h"
#include "addrset/nftables/snapshot.h"
#include "base/err.h"

struct difference {
	struct nftables_link *link;
	const struct nftables_plan *plan;
	struct nftables_snapshot kernel;
	struct nftables_changes changes;
};

/* ---- sets, chains, counters ---- */

static void add_missing_chains(struct difference *diff)
{
	for (size_t i = 0; i < diff->plan->chains.n; i++) {
		const struct nftables_plan_chain *chain = &diff->plan->chains.v[i];
		if (!map_has(&diff->kernel.chains, slice_of(chain->name)))
			nftables_put_chain(diff->link, chain->name, chain->hook);
	}
}

static void add_missing_counters(struct difference *diff)
{
	for (size_t i = 0; i < diff->plan->counters.n; i++) {
		const char *name = diff->plan->counters.v[i];
		if (!map_has(&diff->kernel.counters, slice_of(name)))
			nftables_put_counter(diff->link, name);
	}
}

/* Names of the plan, to find what the kernel has besides. */
static void index_chains(const struct nftables_plan *plan, struct map *ret)
{
	map_init(ret);
	for (size_t i = 0; i < plan->chains.n; i++)
		map_set(ret, slice_of(plan->chains.v[i].name), &plan->chains.v[i]);
}

static void empty_surplus_chains(struct difference *diff, const struct map *planned)
{
	size_t pos = 0;
	const struct map_entry *entry;
	while ((entry = map_next(&diff->kernel.chains, &pos)) != NULL) {
		const struct nftables_kernel_chain *chain = entry->value;
		if (map_has(planned, slice_of(entry->key)) || chain->rules.n == 0)
			continue;
		nftables_drop_rules(diff->link, entry->key);
		diff->changes.rules_removed += chain->rules.n;
	}
}

static void drop_surplus_chains(struct difference *diff, const struct map *planned)
{
	size_t pos = 0;
	const struct map_entry *entry;
	while ((entry = map_next(&diff->kernel.chains, &pos)) != NULL) {
		if (!map_has(planned, slice_of(entry->key)))
			nftables_drop_chain(diff->link, entry->key);
	}
}

static void drop_surplus_counters(struct difference *diff)
{
	for (size_t i = 0; i < diff->plan->counters.n; i++)
		map_del(&diff->kernel.counters, slice_of(diff->plan->counters.v[i]));
	size_t pos = 0;
	const struct map_entry *entry;
	while ((entry = map_next(&diff->kernel.counters, &pos)) != NULL)
		nftables_drop_counter(diff->link, entry->key);
}

/* ---- rules of a chain ---- */

enum {
	/* The kernel finds the place of a rule by walking over its chain: past this many steps it is
	 * cheaper to write the rest of the chain anew. */
	WALK_MAX = 1000 * 1000,
};

struct span {
	size_t prefix;	     /* rules that are equal at the beginning */
	size_t suffix;	     /* and at the end */
	size_t n_old, n_new; /* between them */
};

static bool same_rule(const struct nftables_kernel_rule *old, const struct nftables_plan_rule *rule)
{
	return memcmp(&old->digest, &rule->digest, sizeof(rule->digest)) == 0;
}

static struct span compare_chain(const struct nftables_kernel_chain *old,
				 const struct nftables_plan_chain *chain)
{
	size_t n_old = old->rules.n, n_new = chain->rules.n, n = MIN(n_old, n_new);
	struct span span = { 0 };
	while (span.prefix < n &&
	       same_rule(&old->rules.v[span.prefix], &chain->rules.v[span.prefix]))
		span.prefix++;
	while (span.suffix < n - span.prefix && same_rule(&old->rules.v[n_old - 1 - span.suffix],
							  &chain->rules.v[n_new - 1 - span.suffix]))
		span.suffix++;
	if ((n_old + n_new - 2 * span.prefix - 2 * span.suffix) > WALK_MAX / (n + 1))
		span.suffix = span.prefix = 0;
	span.n_old = n_old - span.prefix - span.suffix;
	span.n_new = n_new - span.prefix - span.suffix;
	return span;
}

static void change_chain(struct difference *diff, const struct nftables_plan_chain *chain)
{
	static const struct nftables_kernel_chain none;
	const struct nftables_kernel_chain *old =
		map_get(&diff->kernel.chains, slice_of(chain->name));
	if (old == NULL)
		old = &none;
	struct span span = compare_chain(old, chain);
	uint64_t before = span.suffix > 0 ? old->rules.v[old->rules.n - span.suffix].handle : 0;
	if (span.n_old > 0 && span.n_old == old->rules.n) {
		nftables_drop_rules(diff->link, chain->name);
	} else {
		for (size_t i = 0; i < span.n_old; i++)
			nftables_drop_rule(diff->link, chain->name,
					   old->rules.v[span.prefix + i].handle);
	}
	for (size_t i = 0; i < span.n_new; i++)
		nftables_put_rule(diff->link, chain->name, &chain->rules.v[span.prefix + i],
				  before);
	diff->changes.rules_removed += span.n_old;
	diff->changes.rules_added += span.n_new;
}

/* ---- elements ---- */

static struct nftables_element element_of_id(const struct addrset_id *id)
{
	struct nftables_element element = { .n_key = sizeof(id->bytes) };
	memcpy(element.key, id->bytes, sizeof(id->bytes));
	return element;
}

static struct nftables_element element_of_port(const struct nftables_plan_port *port)
{
	struct nftables_element element = element_of_id(&port->list);
	element.key[ADDRSET_ID_BYTES] = port->port.protocol;
	element.key[ADDRSET_ID_BYTES + 4] = (uint8_t)(port->port.number >> 8);
	element.key[ADDRSET_ID_BYTES + 5] = (uint8_t)port->port.number;
	element.n_key += 8;
	return element;
}

static struct nftables_element element_of_pod(const struct nftables_plan_pod *pod)
{
	struct nftables_element element = { .n_key = pod->address.n };
	memcpy(element.key, pod->address.bytes, pod->address.n);
	element.chain = pod->chain != NULL ? pod->chain : "";
	return element;
}

static struct nftables_element planned_element(const struct nftables_plan *plan,
					       enum nftables_planned_set set, size_t index)
{
	switch (set) {
	case NFTABLES_PLANNED_PODS4:
	case NFTABLES_PLANNED_PODS6:
		return element_of_pod(&plan->pods.v[index]);
	case NFTABLES_PLANNED_PORTS:
		return element_of_port(&plan->ports.v[index]);
	case NFTABLES_PLANNED_ADMITTED:
		break;
	}
	return element_of_id(&plan->admitted.v[index]);
}

static size_t planned_count(const struct nftables_plan *plan, enum nftables_planned_set set)
{
	switch (set) {
	case NFTABLES_PLANNED_PODS4:
	case NFTABLES_PLANNED_PODS6:
		return plan->pods.n;
	case NFTABLES_PLANNED_PORTS:
		return plan->ports.n;
	case NFTABLES_PLANNED_ADMITTED:
		break;
	}
	return plan->admitted.n;
}

/* Pods of both families are in one list; their keys tell them apart. */
static bool is_in_set(enum nftables_planned_set set, const struct nftables_element *element)
{
	return (set != NFTABLES_PLANNED_PODS4 || element->n_key == 4) &&
	       (set != NFTABLES_PLANNED_PODS6 || element->n_key == 16);
}

/* Adds what is missing. Leaves in the kernel's map only what has to go; an element that changes its
 * verdict is replaced. */
static void add_elements(struct difference *diff, enum nftables_planned_set set,
			 struct nftables_elements *removes)
{
	struct map *have = &diff->kernel.elements[set];
	struct nftables_elements adds;
	VEC(struct nftables_element) missing = { 0 };
	for (size_t i = 0; i < planned_count(diff->plan, set); i++) {
		struct nftables_element element = planned_element(diff->plan, set, i);
		struct slice key = { (const char *)element.key, element.n_key };
		if (!is_in_set(set, &element))
			continue;
		char *chain = map_del(have, key);
		bool same = chain != NULL &&
			    strcmp(chain, element.chain != NULL ? element.chain : "") == 0;
		if (chain != NULL && !same) {
			nftables_elements_add(removes, &element);
			diff->changes.elements_removed++;
		}
		free(chain);
		if (!same)
			vec_push(&missing, element);
	}
	nftables_elements_end(removes);
	nftables_elements_begin(&adds, diff->link, nftables_planned_set_name(set), false);
	for (size_t i = 0; i < missing.n; i++)
		nftables_elements_add(&adds, &missing.v[i]);
	nftables_elements_end(&adds);
	diff->changes.elements_added += missing.n;
	vec_done(&missing);
}

static void change_elements(struct difference *diff, enum nftables_planned_set set)
{
	struct nftables_elements removes;
	nftables_elements_begin(&removes, diff->link, nftables_planned_set_name(set), true);
	add_elements(diff, set, &removes);
	size_t pos = 0;
	const struct map_entry *entry;
	while ((entry = map_next(&diff->kernel.elements[set], &pos)) != NULL) {
		struct nftables_element element = { .n_key = (uint32_t)entry->key_n };
		assert(entry->key_n <= sizeof(element.key));
		memcpy(element.key, entry->key, entry->key_n);
		nftables_elements_add(&removes, &element);
		diff->changes.elements_removed++;
	}
	nftables_elements_end(&removes);
}

static void fill_batch(struct difference *diff)
{
	struct map planned;
	index_chains(diff->plan, &planned);
	nftables_put_sets(diff->link, &diff->kernel.sets);
	add_missing_chains(diff);
	add_missing_counters(diff);
	for (size_t i = 0; i < diff->plan->chains.n; i++)
		change_chain(diff, &diff->plan->chains.v[i]);
	empty_surplus_chains(diff, &planned);
	for (int set = 0; set < NFTABLES_PLANNED_SETS; set++)
		change_elements(diff, (enum nftables_planned_set)set);
	drop_surplus_chains(diff, &planned);
	drop_surplus_counters(diff);
	map_done(&planned);
}

static int report_reading(int result, struct err_text err)
{
	if (result < 0)
		err_text_set(err, "cannot read the nftables table '%s': %s", NFTABLES_TABLE,
			     err_str(result));
	return result;
}

int nftables_ensure_sets(struct nftables_link *link, struct err_text err)
{
	struct map sets;
	int r = report_reading(nftables_snapshot_sets(link, &sets), err);
	if (r == 0)
		nftables_put_sets(link, &sets);
	map_done(&sets);
	return r < 0 ? r : nftables_batch_commit(link, err);
}

int nftables_apply(struct nftables_link *link, const struct nftables_plan *plan,
		   struct nftables_changes *ret, struct err_text err)
{
	struct difference diff = { .link = link, .plan = plan };
	int r = report_reading(nftables_snapshot_read(link, &diff.kernel), err);
	if (r < 0)
		return r;
	fill_batch(&diff);
	diff.changes.messages = nftables_batch_count(link);
	r = nftables_batch_commit(link, err);
	nftables_snapshot_done(&diff.kernel);
	if (r == 0)
		*ret = diff.changes;
	return r;
}

int nftables_remove(struct nftables_link *link, struct err_text err)
{
	nftables_put_table(link); /* so that removing never fails */
	nftables_drop_table(link);
	return nftables_batch_commit(link, err);
}
