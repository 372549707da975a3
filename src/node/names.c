/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A table of name ids. An entry of a name that has left stays while a DNSName still reports addresses for it, and some
 * minutes longer. */
#include "node/names.h"

#include <stdlib.h>
#include <string.h>

#include "api/egress/name.h"
#include "api/egress/node_report.h"
#include "api/egress/unused.h"
#include "api/meta.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "node/firewall.h"

#define FORGET_NS \
	(300 * NS_PER_S) /* longer than the agent's pause between two looks at a DNSName */

struct name {
	unsigned round;	     /* of the last policy that used it */
	bool has_left;	     /* the last policy did not */
	bool is_removed;     /* and its addresses are gone, too */
	bool has_missed;     /* addresses that were reported since */
	uint64_t left_ns;    /* since when */
	uint64_t touched_ns; /* when it was asked for last */
};

struct node_names {
	struct map by_id;
	unsigned round;
	uint64_t removal_ns; /* addresses that were due then are being removed; 0: none are */
};

static struct slice key_of(const struct addrset_id *id)
{
	return (struct slice){ (const char *)id->bytes, sizeof(id->bytes) };
}

struct node_names *node_names_new(void)
{
	struct node_names *names = xcalloc(1, sizeof(*names));
	map_init(&names->by_id);
	return names;
}

void node_names_free(struct node_names *names)
{
	const struct map_entry *entry;
	size_t pos = 0;
	if (names == NULL)
		return;
	while ((entry = map_next(&names->by_id, &pos)) != NULL)
		free(entry->value);
	map_done(&names->by_id);
	free(names);
}

static struct name *get_name(struct node_names *names, const struct addrset_id *id)
{
	struct name *name = map_get(&names->by_id, key_of(id));
	if (name != NULL)
		return name;
	name = xcalloc(1, sizeof(*name));
	map_set(&names->by_id, key_of(id), name);
	return name;
}

void node_names_found(struct node_names *names, const struct addrset_id *id)
{
	get_name(names, id);
}

static bool is_due(const struct name *name, uint64_t now_ns)
{
	return name->has_left && !name->is_removed && now_ns >= name->left_ns + NODE_NAMES_GRACE_NS;
}

/* ---- rules ---- */

static bool use_names(struct node_names *names, const struct nftables_rule *rule)
{
	bool has_returned = false;
	for (size_t i = 0; i < rule->n_targets; i++) {
		if (!rule->targets[i].is_name)
			continue;
		struct name *name = get_name(names, &rule->targets[i].name);
		has_returned |=
			name->is_removed || name->has_missed || is_due(name, names->removal_ns);
		*name = (struct name){ .round = names->round };
	}
	return has_returned;
}

/* Names that the policy does not have. */
static void leave_others(struct node_names *names, uint64_t now_ns)
{
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(&names->by_id, &pos)) != NULL) {
		struct name *name = entry->value;
		if (name->round == names->round)
			continue;
		if (!name->has_left) {
			name->has_left = true;
			name->left_ns = name->touched_ns = now_ns;
		} else if (name->is_removed && now_ns >= name->touched_ns + FORGET_NS) {
			map_del(&names->by_id, (struct slice){ entry->key, entry->key_n });
			free(name);
		}
	}
}

bool node_names_update(struct node_names *names, const struct nftables_policy *policy,
		       uint64_t now_ns)
{
	bool has_returned = false;
	names->round++;
	for (size_t i = 0; i < policy->n_namespaces; i++) {
		for (size_t k = 0; k < policy->namespaces[i].n_rules; k++)
			has_returned |= use_names(names, &policy->namespaces[i].rules[k]);
	}
	leave_others(names, now_ns);
	return has_returned;
}

/* ---- addresses ---- */

uint64_t node_names_due(const struct node_names *names)
{
	const struct map_entry *entry;
	uint64_t due_ns = UINT64_MAX;
	size_t pos = 0;
	while ((entry = map_next(&names->by_id, &pos)) != NULL) {
		const struct name *name = entry->value;
		if (name->has_left && !name->is_removed)
			due_ns = MIN(due_ns, name->left_ns + NODE_NAMES_GRACE_NS);
	}
	return due_ns;
}

bool node_names_is_due(const struct node_names *names, const struct addrset_id *id, uint64_t now_ns)
{
	const struct name *name = map_get(&names->by_id, key_of(id));
	return name != NULL && is_due(name, now_ns);
}

void node_names_begin_removal(struct node_names *names, uint64_t now_ns)
{
	names->removal_ns = now_ns;
}

void node_names_removed(struct node_names *names, uint64_t now_ns)
{
	names->removal_ns = 0;
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(&names->by_id, &pos)) != NULL) {
		struct name *name = entry->value;
		name->is_removed |= is_due(name, now_ns);
	}
}

bool node_names_has_left(struct node_names *names, const struct addrset_id *id, uint64_t now_ns)
{
	struct name *name = map_get(&names->by_id, key_of(id));
	if (name == NULL || !name->has_left)
		return false;
	name->touched_ns = now_ns;
	name->has_missed = true;
	return true;
}

/* ---- marks ---- */

enum { USE_IDS_MAX = 3 };

/* The names by which these uses of the object are known. */
static size_t list_ids(const char *object, unsigned uses, struct addrset_id out[USE_IDS_MAX])
{
	const char *parent = egress_name_below_wildcard(object);
	size_t n = 0;
	if ((uses & EGRESS_USE_REGULAR) != 0)
		out[n++] = node_firewall_name_id(object, false, false);
	if (parent != NULL && (uses & EGRESS_USE_WILDCARD) != 0)
		out[n++] = node_firewall_name_id(parent, true, false);
	/* A wildcard that is not used at all is not used for any depth either. */
	if (parent != NULL && (uses & (EGRESS_USE_WILDCARD | EGRESS_USE_ANY_DEPTH)) != 0)
		out[n++] = node_firewall_name_id(parent, true, true);
	return n;
}

/* Before the first policy a rule may still use it. */
static void note_use(struct node_names *names, const struct addrset_id *id, uint64_t now_ns)
{
	bool is_new = !map_has(&names->by_id, key_of(id));
	struct name *name = get_name(names, id);
	if (is_new && names->round != 0) {
		name->has_left = true;
		name->left_ns = now_ns;
	}
	name->touched_ns = now_ns;
}

bool node_names_note_mark(struct node_names *names, const json_t *dnsname, uint64_t now_ns)
{
	struct addrset_id ids[USE_IDS_MAX];
	struct egress_unused unused;
	const char *mark = api_annotation(dnsname, EGRESS_UNUSED_ANNOTATION);
	if (mark == NULL || egress_unused_parse(mark, &unused) < 0)
		return mark != NULL;
	size_t n = list_ids(api_name(dnsname), unused.uses, ids);
	for (size_t i = 0; i < n; i++)
		note_use(names, &ids[i], now_ns);
	return true;
}

/* ---- the report ---- */

/* A name that is not known has neither rules nor addresses that rules or reports left behind. */
static bool are_released(const struct node_names *names, const char *object, unsigned uses)
{
	struct addrset_id ids[USE_IDS_MAX];
	size_t n = list_ids(object, uses, ids);
	for (size_t i = 0; i < n; i++) {
		const struct name *name = map_get(&names->by_id, key_of(&ids[i]));
		if (name != NULL && !name->is_removed)
			return false;
	}
	return true;
}

static int compare_names(const void *left, const void *right)
{
	const json_t *const *a = left, *const *b = right;
	return strcmp(api_name(*a), api_name(*b));
}

void node_names_list_released(const struct node_names *names, const struct node_objects *dnsnames,
			      struct strbuf *out)
{
	VEC(const json_t *) released = { 0 };
	for (size_t i = 0; i < dnsnames->n; i++) {
		const json_t *object = dnsnames->v[i];
		struct egress_unused unused;
		const char *mark = api_annotation(object, EGRESS_UNUSED_ANNOTATION);
		if (mark != NULL && egress_unused_parse(mark, &unused) == 0 &&
		    are_released(names, api_name(object), unused.uses))
			vec_push(&released, object);
	}
	if (released.n > 1)
		qsort(released.v, released.n, sizeof(*released.v), compare_names);
	bool has_room = true;
	for (size_t i = 0; i < released.n && has_room; i++)
		has_room = egress_report_add_released(
			out, api_name(released.v[i]),
			api_annotation(released.v[i], EGRESS_UNUSED_ANNOTATION));
	vec_done(&released);
}
