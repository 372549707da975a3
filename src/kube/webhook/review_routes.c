/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes a route for each name of a hook, with the rows of that name, and one for all rows of a phase. */
#include "kube/webhook/review_routes_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

enum { BAD_REQUEST = 400 };

/* The rows behind a path. */
struct review_table {
	enum admission_phase phase;
	char *path;
	VEC(struct admission_hook) hooks;
};

struct review_routes {
	VEC(struct review_table *) tables;
	VEC(struct http_route) routes; /* one for each of them */
};

static const char *const phase_paths[] = {
	[ADMISSION_VALIDATE] = "/validate", [ADMISSION_MUTATE] = "/mutate"
};

static void answer_review(void *ctx, const struct http_request *req, struct http_reply *reply)
{
	const struct review_table *table = ctx;
	if (admission_review(table->hooks.v, table->hooks.n, table->phase, req->body,
			     &reply->body) < 0)
		reply->status = BAD_REQUEST;
	else
		reply->content_type = "application/json";
}

/* Takes the path over. */
static struct review_table *add_table(struct review_routes *routes, enum admission_phase phase,
				      char *path)
{
	struct review_table *table = xcalloc(1, sizeof(*table));
	table->phase = phase;
	table->path = path;
	vec_push(&routes->tables, table);
	vec_push(&routes->routes, ((struct http_route){ .path = path,
							.methods = HTTP_POST,
							.max_body_bytes = ADMISSION_BODY_MAX_BYTES,
							.handle = answer_review,
							.ctx = table }));
	return table;
}

static struct review_table *find_table(struct review_routes *routes, const char *path)
{
	for (size_t i = 0; i < routes->tables.n; i++)
		if (strcmp(routes->tables.v[i]->path, path) == 0)
			return routes->tables.v[i];
	return NULL;
}

static void add_hook(struct review_routes *routes, const struct admission_hook *hook)
{
	char *path = xasprintf("%s/%s", phase_paths[hook->phase], hook->name);
	struct review_table *named = find_table(routes, path);
	struct review_table *all = find_table(routes, phase_paths[hook->phase]);
	assert(all != NULL);
	if (named == NULL)
		named = add_table(routes, hook->phase, TAKE_PTR(path));
	free(path);
	vec_push(&named->hooks, *hook);
	vec_push(&all->hooks, *hook);
}

struct review_routes *review_routes_new(const struct admission_hook *hooks, size_t count)
{
	struct review_routes *routes = xcalloc(1, sizeof(*routes));
	for (int phase = 0; phase < ADMISSION_PHASES; phase++)
		add_table(routes, (enum admission_phase)phase, xstrdup(phase_paths[phase]));
	for (size_t i = 0; i < count; i++)
		add_hook(routes, &hooks[i]);
	return routes;
}

void review_routes_free(struct review_routes *routes)
{
	if (routes == NULL)
		return;
	for (size_t i = 0; i < routes->tables.n; i++) {
		vec_done(&routes->tables.v[i]->hooks);
		free(routes->tables.v[i]->path);
		free(routes->tables.v[i]);
	}
	vec_done(&routes->tables);
	vec_done(&routes->routes);
	free(routes);
}

const struct http_route *review_routes_get(const struct review_routes *routes, size_t *ret_count)
{
	*ret_count = routes->routes.n;
	return routes->routes.v;
}
