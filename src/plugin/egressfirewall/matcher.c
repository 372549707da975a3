/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Three sets of names: exact ones, parents of wildcards over one label, and parents of wildcards over
 * any number of labels. The first two are asked once for a name, the third once per label. */
#include "plugin/egressfirewall/matcher.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/rcu/rcu.h"
#include "dns/zone/zoneset.h"

#define WILDCARD "wildcard."

/* Few enough names share a bit with a rule that looking for them costs the others nothing. */
enum { BITS_PER_RULE = 128 };

struct egressfirewall_matcher_sets {
	struct dns_zoneset *exact, *one_label, *deep; /* the last two: NULL when empty */
	struct egressfirewall_rule *rules;
};

/* Characters that a DNSName object may have in its name; more is no object name. */
static bool is_object_name(struct slice object)
{
	for (size_t i = 0; i < object.n; i++) {
		char ch = object.p[i];
		if (!((ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9') || ch == '-' ||
		      ch == '.'))
			return false;
	}
	return object.n != 0 && object.n <= DNS_LEARNT_TEXT_MAX;
}

int egressfirewall_rule_set(struct egressfirewall_rule *ret, struct slice object, bool regular,
			    bool wildcard, bool any_depth)
{
	uint8_t wire[DNS_NAME_MAX];
	if (!is_object_name(object) || object.p[object.n - 1] == '.' ||
	    dns_name_from_text(object, wire) < 0)
		return ERR_PARSE;
	bool has_parent = object.n > strlen(WILDCARD) && slice_starts(object, SLICE(WILDCARD));
	if (!regular && !(wildcard && has_parent))
		return ERR_PARSE;
	*ret = (struct egressfirewall_rule){ .regular = regular,
					     .wildcard = wildcard && has_parent,
					     .any_depth = any_depth };
	memcpy(ret->object, object.p, object.n);
	return 0;
}

/* The hash of the name. */
static uint32_t add_name(struct dns_zoneset **set, const char *text, uint32_t seq,
			 struct egressfirewall_rule *rule)
{
	uint8_t wire[DNS_NAME_MAX];
	int n = dns_name_from_text(slice_of(text), wire);
	assert(n > 0); /* egressfirewall_rule_set read it before */
	if (*set == NULL)
		*set = dns_zoneset_new();
	dns_zoneset_add(*set, wire, seq, rule);
	return dns_name_hash(wire);
}

/* Bits of each part of the filter. */
static uint32_t count_bits(size_t n_rules)
{
	uint32_t n_bits = 1024;
	while (n_bits / BITS_PER_RULE < n_rules && n_bits < UINT32_C(1) << 31)
		n_bits *= 2;
	return n_bits;
}

static void set_bit(struct egressfirewall_matcher *matcher, enum egressfirewall_filter_part part,
		    uint32_t hash)
{
	matcher->words[egressfirewall_filter_word(matcher, part, hash)] |= UINT64_C(1)
									   << (hash & 63);
}

static unsigned count_labels(const char *text)
{
	unsigned n = 1;
	for (; *text != '\0'; text++)
		n += *text == '.';
	return n;
}

static void add_rule(struct egressfirewall_matcher *matcher, uint32_t seq,
		     struct egressfirewall_rule *rule)
{
	struct egressfirewall_matcher_sets *sets = matcher->sets;
	if (rule->regular)
		set_bit(matcher, EGRESSFIREWALL_OF_NAMES,
			add_name(&sets->exact, rule->object, seq, rule));
	if (!rule->wildcard)
		return;
	const char *parent = rule->object + strlen(WILDCARD);
	if (rule->any_depth) {
		set_bit(matcher, EGRESSFIREWALL_OF_PARENTS,
			add_name(&sets->deep, parent, seq, rule) ^ EGRESSFIREWALL_DEEP_BITS);
		matcher->deep |= UINT64_C(1) << MIN(count_labels(parent), 63);
	} else {
		set_bit(matcher, EGRESSFIREWALL_OF_PARENTS,
			add_name(&sets->one_label, parent, seq, rule));
	}
}

static uint32_t next_number(void)
{
	static atomic_uint last_number;
	return atomic_fetch_add(&last_number, 1) + 1;
}

void egressfirewall_matcher_renew_note(struct egressfirewall_matcher *matcher)
{
	if (matcher->number != 0)
		atomic_store_explicit(&matcher->note, next_number(), memory_order_release);
}

struct egressfirewall_matcher *egressfirewall_matcher_new(
	const struct egressfirewall_rule *const *rules, size_t count)
{
	uint32_t n_bits = count_bits(count);
	struct egressfirewall_matcher *m =
		xcalloc(1, sizeof(*m) + (size_t)n_bits / 64 * 2 * sizeof(m->words[0]));
	m->mask = (n_bits - 1) & ~UINT32_C(63);
	if (count != 0) {
		m->number = next_number();
		atomic_init(&m->note, m->number);
	}
	m->sets = xcalloc(1, sizeof(*m->sets));
	m->sets->exact = dns_zoneset_new();
	m->sets->rules = xcalloc(count, sizeof(*m->sets->rules));
	for (size_t i = 0; i < count; i++) {
		m->sets->rules[i] = *rules[i];
		add_rule(m, (uint32_t)i, &m->sets->rules[i]);
	}
	return m;
}

void egressfirewall_matcher_free(struct egressfirewall_matcher *matcher)
{
	if (matcher == NULL)
		return;
	dns_zoneset_free(matcher->sets->exact);
	dns_zoneset_free(matcher->sets->one_label);
	dns_zoneset_free(matcher->sets->deep);
	free(matcher->sets->rules);
	free(matcher->sets);
	free(matcher);
}

static void free_retired(struct rcu_item *item)
{
	egressfirewall_matcher_free(CONTAINER_OF(item, struct egressfirewall_matcher, item));
}

void egressfirewall_matcher_retire(struct egressfirewall_matcher *matcher)
{
	if (matcher != NULL)
		rcu_defer(&matcher->item, free_retired);
}

bool egressfirewall_matches(const struct egressfirewall_matcher *matcher,
			    const struct dns_qname *qname)
{
	const struct egressfirewall_matcher_sets *sets = matcher->sets;
	unsigned label;
	return dns_zoneset_at(sets->exact, qname, 0) != NULL ||
	       (sets->one_label != NULL && dns_zoneset_at(sets->one_label, qname, 1) != NULL) ||
	       (UNLIKELY(sets->deep != NULL) &&
		dns_zoneset_longest(sets->deep, qname, 1, &label) != NULL);
}

/* The rules of an entry and those of the same name, if they are not in the list yet: an object whose
 * name its own wildcard covers is found twice. */
static size_t take_rules(const struct dns_zoneset *set, const struct dns_zone_entry *entry,
			 const struct egressfirewall_rule **out, size_t n, size_t max)
{
	for (; entry != NULL; entry = dns_zoneset_same(set, entry)) {
		bool known = false;
		for (size_t i = 0; i < n; i++)
			known = known || out[i] == entry->value;
		if (!known && n < max)
			out[n++] = entry->value;
	}
	return n;
}

size_t egressfirewall_match(const struct egressfirewall_matcher *matcher,
			    const struct dns_qname *qname, const struct egressfirewall_rule **out,
			    size_t max)
{
	const struct egressfirewall_matcher_sets *sets = matcher->sets;
	const struct dns_zone_entry *entry;
	size_t n = take_rules(sets->exact, dns_zoneset_at(sets->exact, qname, 0), out, 0, max);
	if (sets->one_label != NULL)
		n = take_rules(sets->one_label, dns_zoneset_at(sets->one_label, qname, 1), out, n,
			       max);
	for (unsigned label = 1; sets->deep != NULL && label <= qname->n_labels; label++) {
		entry = dns_zoneset_longest(sets->deep, qname, label, &label);
		if (entry == NULL)
			break;
		n = take_rules(sets->deep, entry, out, n, max);
	}
	return n;
}
