/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replays the look-ups of a namespace with its advised ndots. */
#include "advise/replay.h"

#include "advise/lookup.h"

static void replay_lookup(const struct advise_advice *advice, const struct advise_namespace *ns,
			  const struct advise_lookup *lookup, struct advise_replay *replay)
{
	struct advise_cost cost;
	size_t element;
	size_t dots = advise_trace_dots(lookup->base);
	bool walks_before = dots < advice->options.ndots;
	bool walks_after = dots < ns->ndots;
	advise_lookup_cost(lookup, &cost);
	uint64_t lookups = MAX(cost.lookups, 1U); /* an incomplete one is one, too */
	replay->lookups += cost.lookups;
	replay->before += cost.now;
	replay->after += walks_before == walks_after ? cost.now : cost.bare_first;
	if (walks_before == walks_after)
		return;
	enum advise_judgement judgement = advise_lookup_judge(lookup, &element);
	if (judgement == ADVISE_UNPROVEN)
		replay->unproven += lookups;
	else if (judgement != ADVISE_SAME)
		replay->changed += lookups;
}

static void replay_client(const struct advise_advice *advice, const struct advise_namespace *ns,
			  const struct advise_client *client, enum advise_libc libc,
			  struct advise_replay *replay)
{
	size_t pos = 0;
	for (const struct map_entry *e; (e = map_next(&client->names, &pos)) != NULL;) {
		struct slice base =
			advise_trace_base((struct slice){ e->key, e->key_n }, ns->list.domain[0]);
		struct advise_lookup lookup = {
			.client = client, .list = &ns->list, .base = base, .libcs = 1U << libc
		};
		if (base.n > 0)
			replay_lookup(advice, ns, &lookup, replay);
	}
}

void advise_replay(const struct advise_advice *advice, const struct advise_namespace *ns,
		   enum advise_libc libc, struct advise_replay *ret)
{
	*ret = (struct advise_replay){ 0 };
	for (size_t i = 0; i < ns->clients.n; i++)
		replay_client(advice, ns, ns->clients.v[i], libc, ret);
	for (size_t i = 0; i < ns->others.n; i++)
		replay_client(advice, ns, ns->others.v[i], libc, ret);
}
