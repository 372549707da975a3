/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A table of firewalls by their keys in the queue. A status that is written comes back by the watch: the
 * rules of such a firewall, thousands perhaps, are the same as before. */
#include "controller/egressfirewall/known_firewall.h"

#include <stdlib.h>
#include <string.h>

#include "api/egress/rules.h"
#include "api/meta.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "controller/egressfirewall/state.h"

struct known {
	char *key; /* in the table of users, too */
	char *uid;
	int64_t generation;    /* of the spec */
	bool any_depth;	       /* an annotation is no part of the spec */
	struct strbuf objects; /* names of DNSNames, each with a line feed */
	struct egressfirewall_write write;
};

static void known_free(struct known *known)
{
	if (known == NULL)
		return;
	free(known->key);
	free(known->uid);
	strbuf_done(&known->objects);
	free(known);
}

void egressfirewall_known_done(struct map *firewalls)
{
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(firewalls, &pos)) != NULL)
		known_free(entry->value);
	map_done(firewalls);
}

static bool is_same(const struct known *known, const json_t *firewall)
{
	return known->uid != NULL && strcmp(known->uid, api_uid(firewall)) == 0 &&
	       known->generation == api_generation(firewall) &&
	       known->any_depth == egress_rules_any_depth(firewall);
}

/* Queues its objects; of a firewall that is gone, or is read anew, none is used by it any more. */
static void queue_objects(struct controller_ctx *ctx, const struct known *known, bool is_used)
{
	struct slice rest = strbuf_slice(&known->objects);
	CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
	while (rest.n != 0) {
		struct slice line = slice_cut(&rest, '\n');
		strbuf_reset(&name);
		strbuf_add(&name, line.p, line.n);
		if (!is_used)
			rule_users_remove(&egressfirewall_state_of(ctx)->users, name.s, known->key);
		egressfirewall_queue(ctx, EGRESSFIREWALL_NAME_KEY, name.s);
	}
}

/* What a rule is read into. */
struct reading {
	struct known *known;
	struct rule_users *users;
};

static void add_object(void *arg, const struct egress_name *name)
{
	const struct reading *reading = arg;
	struct known *known = reading->known;
	enum rule_use wildcard = known->any_depth ? RULE_USE_ANY_DEPTH : RULE_USE_ONE_LABEL;
	char object[EGRESS_NAME_MAX + 1];
	egress_name_object(name->text, name->is_wildcard, object);
	strbuf_addf(&known->objects, "%s\n", object);
	rule_users_add(reading->users, object, known->key,
		       name->is_wildcard ? wildcard : RULE_USE_REGULAR);
}

static void read_firewall(struct known *known, struct rule_users *users, const json_t *firewall)
{
	free(known->uid);
	known->uid = xstrdup(api_uid(firewall));
	known->generation = api_generation(firewall);
	known->any_depth = egress_rules_any_depth(firewall);
	strbuf_reset(&known->objects);
	egress_rules_each_name(firewall, add_object, &(struct reading){ known, users });
}

/* With the lock held. */
static struct known *find_or_add(struct egressfirewall_state *state, const char *key)
{
	struct known *known = map_get(&state->firewalls, slice_of(key));
	if (known != NULL)
		return known;
	known = xcalloc(1, sizeof(*known));
	known->key = xstrdup(key);
	strbuf_init(&known->objects);
	map_set(&state->firewalls, slice_of(key), known);
	return known;
}

void egressfirewall_known_update(struct controller_ctx *ctx, const char *key,
				 const json_t *firewall)
{
	struct egressfirewall_state *state = egressfirewall_state_of(ctx);
	pthread_mutex_lock(&state->lock);
	if (firewall == NULL) {
		struct known *gone = map_del(&state->firewalls, slice_of(key));
		if (gone != NULL)
			queue_objects(ctx, gone, false);
		known_free(gone);
	} else {
		struct known *known = find_or_add(state, key);
		if (!is_same(known, firewall)) {
			queue_objects(ctx, known, false);
			read_firewall(known, &state->users, firewall);
			queue_objects(ctx, known, true);
		}
	}
	pthread_mutex_unlock(&state->lock);
}

struct egressfirewall_write egressfirewall_known_write(const struct controller_ctx *ctx,
						       const char *key)
{
	struct egressfirewall_state *state = egressfirewall_state_of(ctx);
	struct egressfirewall_write write = { 0 };
	pthread_mutex_lock(&state->lock);
	const struct known *known = map_get(&state->firewalls, slice_of(key));
	if (known != NULL)
		write = known->write;
	pthread_mutex_unlock(&state->lock);
	return write;
}

void egressfirewall_known_note(const struct controller_ctx *ctx, const char *key,
			       const struct egressfirewall_write *write)
{
	struct egressfirewall_state *state = egressfirewall_state_of(ctx);
	pthread_mutex_lock(&state->lock);
	struct known *known = map_get(&state->firewalls, slice_of(key));
	if (known != NULL)
		known->write = *write;
	pthread_mutex_unlock(&state->lock);
}
