/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Field ownership of a write: which paths nobody owns, which versions the kind has, and who writes;
 * api/apply does the rest. */
#include "apiserver/verb/field_managers.h"

#include <string.h>

#include "api/apply/managed.h"
#include "api/meta.h"
#include "api/time.h"
#include "apiserver/kind/go_normalize.h"
#include "apiserver/request/object.h"
#include "base/clock.h"
#include "base/err_text.h"

enum { RESET_MAX = 16, VERSIONS_MAX = 8 };

/* Fields that the server sets when the client leaves them out: then nobody owns them. */
static const struct {
	const char *kind;
	const char *paths[8];
} server_set[] = {
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
	struct api_managed_write write;
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

/* Paths of the fields that the server sets; most kinds have none. */
static const char *const *server_set_paths(const struct apiserver_resource *resource)
{
	static const char *const none[] = { NULL };
	for (size_t i = 0; resource->built_in && i < ARRAY_LEN(server_set); i++) {
		if (strcmp(server_set[i].kind, resource->kind->kind) == 0)
			return server_set[i].paths;
	}
	return none;
}

unsigned apiserver_field_managers_unset(const struct apiserver_resource *resource,
					const json_t *asked)
{
	const char *const *p = server_set_paths(resource);
	unsigned unset = 0;
	for (unsigned i = 0; p[i] != NULL; i++)
		unset |= (unsigned)(api_get(asked, p[i]) == NULL) << i;
	return unset;
}

static void set_reset_paths(struct managing *managing, const struct apiserver_writing *writing,
			    unsigned unset)
{
	const char *const *p = server_set_paths(writing->resource);
	if (writing->subresource[0] != '\0') {
		add_reset(managing, "spec");
		if (!writing->resource->built_in)
			add_reset(managing, "metadata");
	} else if (writing->resource->status) {
		add_reset(managing, "status");
	}
	for (unsigned i = 0; p[i] != NULL; i++) {
		if ((unset >> i & 1) != 0)
			add_reset(managing, p[i]);
	}
}

/* Sets apiVersions of the kind other than the request's: other managers may have used them. Versions
 * of a kind share the stored one. */
static void set_other_versions(struct managing *managing, const struct apiserver_resource *resource)
{
	size_t n, out = 0;
	const struct apiserver_resource *const *rows = apiserver_resources(&n);
	size_t starts[VERSIONS_MAX];
	for (size_t i = 0; i < n && out < VERSIONS_MAX; i++) {
		if (rows[i] == resource || rows[i]->stored != resource->stored ||
		    strcmp(rows[i]->kind->group, resource->kind->group) != 0)
			continue;
		starts[out++] = managing->others.n;
		strbuf_adds(&managing->others, resource->kind->group);
		strbuf_addc(&managing->others, '/');
		strbuf_adds(&managing->others, rows[i]->version);
		strbuf_addc(&managing->others, '\0');
	}
	for (size_t i = 0; i < out; i++)
		managing->versions[i] = managing->others.s + starts[i];
}

/* An object of the kind without any input ({"spec":{}}): its fields belong to nobody. */
static json_t *make_blank_object(const struct apiserver_resource *resource)
{
	json_t *o = json_pack("{s{}}", "metadata");
	apiserver_go_normalize(resource, o);
	return o;
}

static void begin_write(struct managing *managing, const struct apiserver_writing *writing,
			unsigned unset, const json_t *old)
{
	memset(managing, 0, sizeof(*managing));
	strbuf_init(&managing->version);
	strbuf_init(&managing->others);
	apiserver_object_add_version(&managing->version, writing->resource);
	set_reset_paths(managing, writing, unset);
	set_other_versions(managing, writing->resource);
	if (old == NULL && writing->resource->built_in)
		old = managing->blank = make_blank_object(writing->resource);
	managing->write = (struct api_managed_write){
		.schema = writing->resource->openapi,
		.live = old,
		.manager = writing->manager,
		.subresource = writing->subresource,
		.api_version = managing->version.s,
		.time = api_time_format(clock_wall_ns(), managing->now),
		.reset = managing->reset,
		.versions = managing->versions,
		.built_in = writing->resource->built_in,
		.schema_stays = true, /* it is in the table of resources */
	};
}

static void end_write(struct managing *managing)
{
	strbuf_done(&managing->version);
	strbuf_done(&managing->others);
	json_decref(managing->blank);
}

static int refuse_error(const struct apiserver_writing *writing, int code, const char *err)
{
	if (code == ERR_LIMIT)
		return apiserver_status_refuse(writing->status, 413, "RequestEntityTooLarge",
					       "Request entity too large: %s", err);
	return apiserver_status_refuse(writing->status, 500, "", "%s", err);
}

int apiserver_field_managers_update(const struct apiserver_writing *writing, unsigned unset,
				    const json_t *old, const json_t *object, json_t **ret)
{
	struct managing managing;
	char err[1024] = "";
	begin_write(&managing, writing, unset, old);
	int e = api_managed_update(&managing.write, object, ret, ERR_TEXT(err));
	end_write(&managing);
	return e < 0 ? refuse_error(writing, e, err) : 0;
}

int apiserver_field_managers_apply(const struct apiserver_writing *writing, const json_t *old,
				   const json_t *config, bool force, json_t **ret)
{
	struct managing managing;
	struct api_conflicts conflicts = { 0 };
	char err[1024] = "";
	begin_write(&managing, writing, apiserver_field_managers_unset(writing->resource, config),
		    old);
	int e = api_managed_apply(&managing.write, config, force, ret, &conflicts, ERR_TEXT(err));
	if (e == ERR_CONFLICT)
		e = apiserver_status_apply_conflict(writing->status, &conflicts);
	else if (e == ERR_CONFIG)
		e = apiserver_status_bad_request(writing->status, "%s", err);
	else if (e < 0)
		e = refuse_error(writing, e, err);
	api_conflicts_done(&conflicts);
	end_write(&managing);
	return e;
}
