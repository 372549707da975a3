/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keeps what lines say, up to the limits. */
#include "advise/trace.h"

#include <assert.h>
#include <string.h>

void advise_trace_init(struct advise_trace *trace)
{
	*trace = (struct advise_trace){ .names_max = ADVISE_NAMES_MAX,
					.clients_max = ADVISE_CLIENTS_MAX };
	arena_init(&trace->arena);
	map_init(&trace->clients);
}

void advise_trace_done(struct advise_trace *trace)
{
	size_t pos = 0;
	for (const struct map_entry *e; (e = map_next(&trace->clients, &pos)) != NULL;) {
		struct advise_client *client = e->value;
		map_done(&client->names);
		map_done(&client->ns);
		map_done(&client->maybe_ns);
	}
	map_done(&trace->clients);
	arena_done(&trace->arena);
}

static struct advise_client *find_or_add_client(struct advise_trace *trace, struct slice address)
{
	struct advise_client *client = map_get(&trace->clients, address);
	if (client != NULL)
		return client;
	if (trace->clients.n >= trace->clients_max)
		return NULL;
	client = arena_calloc(&trace->arena, sizeof(*client));
	map_init(&client->names);
	map_init(&client->ns);
	map_init(&client->maybe_ns);
	map_set(&trace->clients, address, client);
	return client;
}

static struct advise_fact *find_or_add_fact(struct advise_trace *trace,
					    struct advise_client *client, struct slice name)
{
	struct advise_fact *fact = map_get(&client->names, name);
	if (fact != NULL)
		return fact;
	if (trace->names >= trace->names_max)
		return NULL;
	fact = arena_calloc(&trace->arena, sizeof(*fact));
	map_set(&client->names, name, fact);
	trace->names++;
	return fact;
}

static void add_namespace(struct advise_trace *trace, struct advise_client *client, struct slice ns)
{
	client->logs_ns = true;
	if (map_has(&client->ns, ns))
		return;
	if (trace->names >= trace->names_max) {
		client->incomplete = true;
		return;
	}
	map_set(&client->ns, ns, client);
	trace->names++;
}

void advise_trace_add(struct advise_trace *trace, const struct advise_line *line)
{
	trace->queries++;
	if (!line->in_class_in || line->name.n == 0)
		return;
	struct advise_client *client = find_or_add_client(trace, line->client);
	if (client == NULL) {
		trace->incomplete = true;
		return;
	}
	client->queries++;
	if (line->ns.n != 0)
		add_namespace(trace, client, line->ns);
	struct advise_fact *fact = find_or_add_fact(trace, client, line->name);
	if (fact == NULL) {
		client->incomplete = true;
		return;
	}
	fact->seen[line->type] |= (uint8_t)line->outcome;
	if (fact->count[line->type] < UINT32_MAX)
		fact->count[line->type]++;
}

void advise_trace_add_cut(struct advise_trace *trace, struct slice address)
{
	struct advise_client *client = find_or_add_client(trace, address);
	if (client == NULL)
		trace->incomplete = true;
	else
		client->has_cut_line = true;
}

bool advise_trace_too_long(struct slice base, struct slice suffix)
{
	return base.n + (suffix.n > 0 ? 1 + suffix.n : 0) > ADVISE_NAME_MAX;
}

const struct advise_fact *advise_trace_fact(const struct advise_client *client, struct slice base,
					    struct slice suffix)
{
	char name[ADVISE_NAME_TEXT_MAX];
	if (suffix.n == 0)
		return map_get(&client->names, base);
	if (base.n == 0 || base.n + 1 + suffix.n > sizeof(name))
		return NULL;
	memcpy(name, base.p, base.n);
	name[base.n] = '.';
	memcpy(name + base.n + 1, suffix.p, suffix.n);
	return map_get(&client->names, (struct slice){ name, base.n + 1 + suffix.n });
}

struct slice advise_trace_base(struct slice name, struct slice suffix)
{
	assert(suffix.n > 0);
	if (name.n < suffix.n + 2 || !slice_ends(name, suffix) ||
	    name.p[name.n - suffix.n - 1] != '.')
		return (struct slice){ NULL, 0 };
	return (struct slice){ name.p, name.n - suffix.n - 1 };
}

size_t advise_trace_dots(struct slice name)
{
	size_t dots = 0;
	for (size_t i = 0; i < name.n; i++)
		dots += name.p[i] == '.';
	return dots;
}
