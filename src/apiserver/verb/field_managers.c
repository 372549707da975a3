/* Managers of fields. */
#include "apiserver/verb/field_managers.h"

#include <string.h>

#include "api/apply/managed.h"
#include "api/meta.h"
#include "api/time.h"
#include "apiserver/kind/go_normalize.h"
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

static void add_reset(struct managing *managing, const char *path)
{
	if (managing->n_reset < RESET_MAX)
		managing->reset[managing->n_reset++] = path;
}

/* The paths of a kind; none for most. */
static const char *const *paths_of(const struct apiserver_resource *resource)
{
	static const char *const none[] = { NULL };
	for (size_t i = 0; resource->built_in && i < ARRAY_LEN(given); i++) {
		if (strcmp(given[i].kind, resource->kind->kind) == 0)
			return given[i].paths;
	}
	return none;
}

unsigned apiserver_managers_left(const struct apiserver_resource *resource, const json_t *asked)
{
	const char *const *p = paths_of(resource);
	unsigned left = 0;
	for (unsigned i = 0; p[i] != NULL; i++)
		left |= (unsigned)(api_get(asked, p[i]) == NULL) << i;
	return left;
}

static void set_reset(struct managing *managing, const struct apiserver_writing *writing,
		      unsigned left)
{
	const char *const *p = paths_of(writing->r);
	if (writing->sub[0] != '\0') {
		add_reset(managing, "spec");
		if (!writing->r->built_in)
			add_reset(managing, "metadata");
	} else if (writing->r->status) {
		add_reset(managing, "status");
	}
	for (unsigned i = 0; p[i] != NULL; i++) {
		if ((left >> i & 1) != 0)
			add_reset(managing, p[i]);
	}
}

/* The kind's other versions. */
static void set_versions(struct managing *managing, const struct apiserver_resource *resource)
{
	size_t n, out = 0;
	const struct apiserver_resource *const *rows = apiserver_resources(&n);
	size_t starts[VERSIONS_MAX];
	for (size_t i = 0; i < n && out < VERSIONS_MAX; i++) {
		if (rows[i] == resource ||
		    strcmp(rows[i]->kind->group, resource->kind->group) != 0 ||
		    strcmp(rows[i]->kind->kind, resource->kind->kind) != 0)
			continue;
		starts[out++] = managing->others.n;
		strbuf_addf(&managing->others, "%s/%s", resource->kind->group, rows[i]->version);
		strbuf_addc(&managing->others, '\0');
	}
	for (size_t i = 0; i < out; i++)
		managing->versions[i] = managing->others.s + starts[i];
}

/* What an object of the kind is before anybody says anything ({"spec":{}}) belongs to nobody. */
static json_t *blank(const struct apiserver_resource *resource)
{
	json_t *o = json_pack("{s{}}", "metadata");
	apiserver_go_normalize(resource, o);
	return o;
}

static void begin(struct managing *managing, const struct apiserver_writing *writing, unsigned left,
		  const json_t *old)
{
	memset(managing, 0, sizeof(*managing));
	strbuf_init(&managing->version);
	strbuf_init(&managing->others);
	strbuf_addf(&managing->version, "%s%s%s", writing->r->kind->group,
		    writing->r->kind->group[0] != '\0' ? "/" : "", writing->r->version);
	set_reset(managing, writing, left);
	set_versions(managing, writing->r);
	if (old == NULL && writing->r->built_in)
		old = managing->blank = blank(writing->r);
	managing->m = (struct api_managed_write){
		.schema = writing->r->openapi,
		.live = old,
		.manager = writing->manager,
		.subresource = writing->sub,
		.api_version = managing->version.s,
		.time = api_time(clock_wall_ns(), managing->now),
		.reset = managing->reset,
		.versions = managing->versions,
		.built_in = writing->r->built_in,
	};
}

static void end(struct managing *managing)
{
	strbuf_done(&managing->version);
	strbuf_done(&managing->others);
	json_decref(managing->blank);
}

static int refuse_managers(const struct apiserver_writing *writing, int code, const char *err)
{
	if (code == ERR_LIMIT)
		return apiserver_refuse(writing->st, 413, "RequestEntityTooLarge",
					"Request entity too large: %s", err);
	return apiserver_refuse(writing->st, 500, "", "%s", err);
}

int apiserver_managers_update(const struct apiserver_writing *writing, unsigned left,
			      const json_t *old, const json_t *object, json_t **ret)
{
	struct managing g;
	char err[1024] = "";
	begin(&g, writing, left, old);
	int e = api_managed_update(&g.m, object, ret, err, sizeof(err));
	end(&g);
	return e < 0 ? refuse_managers(writing, e, err) : 0;
}

int apiserver_managers_apply(const struct apiserver_writing *writing, const json_t *old,
			     const json_t *config, bool force, json_t **ret)
{
	struct managing g;
	struct api_conflicts conflicts = { 0 };
	char err[1024] = "";
	begin(&g, writing, apiserver_managers_left(writing->r, config), old);
	int e = api_managed_apply(&g.m, config, force, ret, &conflicts, err, sizeof(err));
	if (e == ERR_CONFLICT)
		e = apiserver_apply_conflict(writing->st, &conflicts);
	else if (e == ERR_CONFIG)
		e = apiserver_bad_request(writing->st, "%s", err);
	else if (e < 0)
		e = refuse_managers(writing, e, err);
	api_conflicts_done(&conflicts);
	end(&g);
	return e;
}
