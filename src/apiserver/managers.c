/* Managers of fields. */
#include "apiserver/managers.h"

#include <string.h>

#include "api/managed.h"
#include "api/meta.h"
#include "api/time.h"
#include "apiserver/shape.h"
#include "base/clock.h"

enum { RESET_MAX = 16, VERSIONS_MAX = 8 };

/* What the server gives to objects of a kind when the client says nothing: nobody's. */
static const struct {
	const char *kind;
	const char *paths[8];
} given[] = {
	{ "Namespace", { "spec.finalizers" } },
	{ "Service",
	  { "spec.clusterIP", "spec.clusterIPs", "spec.ipFamilies", "spec.ipFamilyPolicy",
	    "spec.healthCheckNodePort" } },
	{ "Pod",
	  { "spec.tolerations", "spec.serviceAccountName", "spec.serviceAccount", "spec.priority",
	    "spec.preemptionPolicy" } },
	{ "Node", { "spec.taints" } },
};

struct managing {
	struct api_managed_write m;
	const char *reset[RESET_MAX + 1];
	size_t n_reset;
	const char *versions[VERSIONS_MAX + 1];
	struct strbuf version, others;
	json_t *blank;
	char now[API_TIME_TEXT_MAX];
};

static void add_reset(struct managing *g, const char *path)
{
	if (g->n_reset < RESET_MAX)
		g->reset[g->n_reset++] = path;
}

/* The paths of a kind; none for most. */
static const char *const *paths_of(const struct apiserver_resource *r)
{
	static const char *const none[] = { NULL };
	for (size_t i = 0; r->built_in && i < ARRAY_LEN(given); i++) {
		if (strcmp(given[i].kind, r->kind->kind) == 0)
			return given[i].paths;
	}
	return none;
}

unsigned apiserver_managers_left(const struct apiserver_resource *r, const json_t *asked)
{
	const char *const *p = paths_of(r);
	unsigned left = 0;
	for (unsigned i = 0; p[i] != NULL; i++)
		left |= (unsigned)(api_get(asked, p[i]) == NULL) << i;
	return left;
}

static void set_reset(struct managing *g, const struct apiserver_writing *w, unsigned left)
{
	const char *const *p = paths_of(w->r);
	if (w->sub[0] != '\0') {
		add_reset(g, "spec");
		if (!w->r->built_in)
			add_reset(g, "metadata");
	} else if (w->r->status) {
		add_reset(g, "status");
	}
	for (unsigned i = 0; p[i] != NULL; i++) {
		if ((left >> i & 1) != 0)
			add_reset(g, p[i]);
	}
}

/* The kind's other versions. */
static void set_versions(struct managing *g, const struct apiserver_resource *r)
{
	size_t n, out = 0;
	const struct apiserver_resource *const *rows = apiserver_resources(&n);
	size_t starts[VERSIONS_MAX];
	for (size_t i = 0; i < n && out < VERSIONS_MAX; i++) {
		if (rows[i] == r || strcmp(rows[i]->kind->group, r->kind->group) != 0 ||
		    strcmp(rows[i]->kind->kind, r->kind->kind) != 0)
			continue;
		starts[out++] = g->others.n;
		strbuf_addf(&g->others, "%s/%s", r->kind->group, rows[i]->version);
		strbuf_addc(&g->others, '\0');
	}
	for (size_t i = 0; i < out; i++)
		g->versions[i] = g->others.s + starts[i];
}

/* What an object of the kind is before anybody says anything ({"spec":{}}) belongs to nobody. */
static json_t *blank(const struct apiserver_resource *r)
{
	json_t *o = json_pack("{s{}}", "metadata");
	apiserver_shape(r, o);
	return o;
}

static void begin(struct managing *g, const struct apiserver_writing *w, unsigned left,
		  const json_t *old)
{
	memset(g, 0, sizeof(*g));
	strbuf_init(&g->version);
	strbuf_init(&g->others);
	strbuf_addf(&g->version, "%s%s%s", w->r->kind->group,
		    w->r->kind->group[0] != '\0' ? "/" : "", w->r->version);
	set_reset(g, w, left);
	set_versions(g, w->r);
	if (old == NULL && w->r->built_in)
		old = g->blank = blank(w->r);
	g->m = (struct api_managed_write){
		.schema = w->r->openapi,
		.live = old,
		.manager = w->manager,
		.subresource = w->sub,
		.api_version = g->version.s,
		.time = api_time(clock_wall_ns(), g->now),
		.reset = g->reset,
		.versions = g->versions,
		.built_in = w->r->built_in,
	};
}

static void end(struct managing *g)
{
	strbuf_done(&g->version);
	strbuf_done(&g->others);
	json_decref(g->blank);
}

static int refuse_managers(const struct apiserver_writing *w, int code, const char *err)
{
	if (code == ERR_LIMIT)
		return apiserver_refuse(w->st, 413, "RequestEntityTooLarge",
					"Request entity too large: %s", err);
	return apiserver_refuse(w->st, 500, "", "%s", err);
}

int apiserver_managers_update(const struct apiserver_writing *w, unsigned left, const json_t *old,
			      const json_t *o, json_t **ret)
{
	struct managing g;
	char err[1024] = "";
	begin(&g, w, left, old);
	int e = api_managed_update(&g.m, o, ret, err, sizeof(err));
	end(&g);
	return e < 0 ? refuse_managers(w, e, err) : 0;
}

int apiserver_managers_apply(const struct apiserver_writing *w, const json_t *old,
			     const json_t *config, bool force, json_t **ret)
{
	struct managing g;
	struct api_conflicts conflicts = { 0 };
	char err[1024] = "";
	begin(&g, w, apiserver_managers_left(w->r, config), old);
	int e = api_managed_apply(&g.m, config, force, ret, &conflicts, err, sizeof(err));
	if (e == ERR_CONFLICT)
		e = apiserver_apply_conflict(w->st, &conflicts);
	else if (e == ERR_CONFIG)
		e = apiserver_bad_request(w->st, "%s", err);
	else if (e < 0)
		e = refuse_managers(w, e, err);
	api_conflicts_done(&conflicts);
	end(&g);
	return e;
}
