/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DNS objects with another name than `default` have no effect. A log line and an Event report that,
 * once for each object. */
#include "controller/dnsoperator/ignored_dns.h"

#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/map.h"
#include "base/mem.h"
#include "kube/decode/tree.h"

static const char advice[] = "Only the DNS object named default is acted on, so this one has no "
			     "effect; move its spec there, and delete it";

void dnsoperator_ignored_init(struct dnsoperator_ignored *ignored)
{
	pthread_mutex_init(&ignored->lock, NULL);
	map_init(&ignored->uids);
}

void dnsoperator_ignored_done(struct dnsoperator_ignored *ignored)
{
	const struct map_entry *e;
	size_t pos = 0;
	while ((e = map_next(&ignored->uids, &pos)) != NULL)
		free(e->value);
	map_done(&ignored->uids);
	pthread_mutex_destroy(&ignored->lock);
}

/* Remembers the object (uid NULL: it is missing); true when it is new. */
static bool is_new(struct dnsoperator_ignored *ignored, const char *name, const char *uid)
{
	pthread_mutex_lock(&ignored->lock);
	const char *known = map_get(&ignored->uids, slice_of(name));
	bool new = uid != NULL && (known == NULL || strcmp(known, uid) != 0);
	if (uid == NULL)
		free(map_del(&ignored->uids, slice_of(name)));
	else if (new)
		free(map_set(&ignored->uids, slice_of(name), xstrdup(uid)));
	pthread_mutex_unlock(&ignored->lock);
	return new;
}

void dnsoperator_ignore(struct controller_ctx *ctx, const char *name)
{
	struct dnsoperator_state *state = ctx->state;
	struct dnsoperator_pass l = { .ctx = ctx };
	l.dns = kube_store_get(ctx->stores[DNSOPERATOR_WATCH_DNS], SLICE(""), slice_of(name));
	const json_t *o = l.dns != NULL ? kube_tree_of(l.dns) : NULL;
	CLEANUP(freep) char *text = xasprintf("DNS %s: %s", name, advice);
	if (is_new(&state->ignored, name, o != NULL ? api_uid(o) : NULL))
		dnsoperator_emit_event(&l, true, "DNSIgnored", "Ignore", text);
	kube_obj_unref(l.dns);
}
