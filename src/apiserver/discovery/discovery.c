/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Serves the discovery documents: /api, /apis, /version and /openapi. They are built for each
 * request, since these are rare; only the hashes of the OpenAPI documents are cached. */
#include "apiserver/discovery/discovery.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "api/yaml/yaml.h"
#include "apiserver/codec/accept.h"
#include "apiserver/discovery/catalogue.h"
#include "apiserver/discovery/openapi.h"
#include "apiserver/discovery/openapi_v2.h"
#include "apiserver/request/answer.h"
#include "base/mem.h"
#include "base/crypto/digest.h"

enum {
	HASH_BYTES = 16, /* of the digest, in entity tags and URLs */
	HASH_TEXT = 2 * HASH_BYTES + 1,
	PATH_PART_MAX = 256,
};

/* The API level we speak: clients compare it with their own and warn when it is far off. */
#define KUBERNETES_MAJOR "1"
#define KUBERNETES_MINOR "37"

struct apiserver_discovery {
	struct apiserver_catalogue catalogue;
	char *git_version, *address;
	char *controllers; /* NULL: none run in this process */

	pthread_mutex_t lock;	   /* guards hashes */
	char (*hashes)[HASH_TEXT]; /* of OpenAPI v3 documents, as the catalogue; "": not yet */
};

/* --- documents --- */

static json_t *make_api_versions(const struct apiserver_discovery *discovery)
{
	return json_pack("{ss,s[s],s[{ss,ss}]}", "kind", "APIVersions", "versions", "v1",
			 "serverAddressByClientCIDRs", "clientCIDR", "0.0.0.0/0", "serverAddress",
			 discovery->address);
}

static json_t *make_version_entry(const struct apiserver_group_version *gv)
{
	CLEANUP(freep) char *name = xasprintf("%s/%s", gv->group, gv->version);
	return json_pack("{ss,ss}", "groupVersion", name, "version", gv->version);
}

/* `gv` is the first of its group. */
static json_t *make_api_group(const struct apiserver_discovery *discovery,
			      const struct apiserver_group_version *gv)
{
	json_t *versions = json_array();
	const struct apiserver_group_version *end =
		discovery->catalogue.versions + discovery->catalogue.n_versions;
	for (const struct apiserver_group_version *at = gv; at < end && (at == gv || !at->first);
	     at++)
		json_array_append_new(versions, make_version_entry(at));
	return json_pack("{ss,so,so}", "name", gv->group, "versions", versions, "preferredVersion",
			 make_version_entry(gv));
}

static json_t *make_api_group_list(const struct apiserver_discovery *discovery)
{
	json_t *groups = json_array();
	for (size_t i = 0; i < discovery->catalogue.n_versions; i++) {
		const struct apiserver_group_version *gv = &discovery->catalogue.versions[i];
		if (gv->first && gv->group[0] != '\0')
			json_array_append_new(groups, make_api_group(discovery, gv));
	}
	return json_pack("{ss,ss,so}", "kind", "APIGroupList", "apiVersion", "v1", "groups",
			 groups);
}

static const struct {
	unsigned verb;
	const char *text;
} verbs[] = {
	{ APISERVER_DELETE, "delete" }, { APISERVER_DELETECOLLECTION, "deletecollection" },
	{ APISERVER_GET, "get" },	{ APISERVER_LIST, "list" },
	{ APISERVER_PATCH, "patch" },	{ APISERVER_CREATE, "create" },
	{ APISERVER_UPDATE, "update" }, { APISERVER_WATCH, "watch" },
};

/* In the server's order: alphabetical for built-in kinds, that of the table for others. */
static json_t *make_verb_list(bool built_in, unsigned set)
{
	json_t *list = json_array();
	if (built_in && (set & APISERVER_CREATE) != 0)
		json_array_append_new(list, json_string("create"));
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if ((set & verbs[i].verb) != 0 && !(built_in && verbs[i].verb == APISERVER_CREATE))
			json_array_append_new(list, json_string(verbs[i].text));
	}
	return list;
}

static void set_words(json_t *object, const char *key, const char *words)
{
	struct slice rest = slice_of(words);
	json_t *list = json_array();
	while (rest.p != NULL && rest.n > 0) {
		struct slice word = slice_cut(&rest, ' ');
		if (word.n > 0)
			json_array_append_new(list, json_stringn(word.p, word.n));
	}
	if (json_array_size(list) > 0)
		json_object_set(object, key, list);
	json_decref(list);
}

static void add_resource(json_t *list, const struct apiserver_resource *resource)
{
	const struct api_kind *k = resource->kind;
	json_t *o = json_pack("{ss,ss,sb,ss,so}", "name", k->plural, "singularName", k->singular,
			      "namespaced", k->namespaced, "kind", k->kind, "verbs",
			      make_verb_list(resource->built_in, resource->verbs));
	set_words(o, "shortNames", k->shorts);
	set_words(o, "categories", resource->categories);
	json_array_append_new(list, o);
	if (!resource->status)
		return;
	CLEANUP(freep) char *status = xasprintf("%s/status", k->plural);
	json_array_append_new(
		list, json_pack("{ss,ss,sb,ss,so}", "name", status, "singularName", "",
				"namespaced", k->namespaced, "kind", k->kind, "verbs",
				make_verb_list(resource->built_in, APISERVER_GET | APISERVER_PATCH |
									   APISERVER_UPDATE)));
}

static json_t *make_api_resource_list(const struct apiserver_group_version *gv)
{
	bool core = gv->group[0] == '\0';
	CLEANUP(freep)
	char *name = core ? xstrdup(gv->version) : xasprintf("%s/%s", gv->group, gv->version);
	json_t *list = json_array();
	for (size_t i = 0; i < gv->n_rows; i++)
		add_resource(list, gv->rows[i]);
	json_t *o = json_pack("{ss}", "kind", "APIResourceList");
	if (!core)
		json_object_set_new(o, "apiVersion", json_string("v1"));
	json_object_set_new(o, "groupVersion", json_string(name));
	json_object_set_new(o, "resources", list);
	return o;
}

static json_t *make_version_info(const struct apiserver_discovery *discovery)
{
	struct utsname u;
	CLEANUP(freep)
	char *platform =
		xasprintf("linux/%s", uname(&u) == 0 && strcmp(u.machine, "x86_64") == 0 ? "amd64"
				      : strcmp(u.machine, "aarch64") == 0		 ? "arm64"
									  : u.machine);
	return json_pack("{ss,ss,ss,ss,ss,ss,ss,ss,ss,ss*}", "major", KUBERNETES_MAJOR, "minor",
			 KUBERNETES_MINOR, "gitVersion", discovery->git_version, "gitCommit", "",
			 "gitTreeState", "", "buildDate", "1970-01-01T00:00:00Z", "goVersion", "",
			 "compiler", "cc", "platform", platform, "fairleadControllers",
			 discovery->controllers);
}

/* --- writing them --- */

static void hash_text(const void *data, size_t len, char out[HASH_TEXT])
{
	uint8_t digest[DIGEST_SHA512_BYTES];
	digest_sha512(data, len, digest);
	for (size_t i = 0; i < HASH_BYTES; i++)
		snprintf(out + 2 * i, 3, "%02X", digest[i]);
}

/* Sets the entity tag; 304 without a body when the client has this document already. */
static void set_etag(struct apiserver_answer *answer, const struct apiserver_call *call)
{
	char hash[HASH_TEXT];
	hash_text(answer->body.s, answer->body.n, hash);
	snprintf(answer->etag, sizeof(answer->etag), "\"%s\"", hash);
	if (call->if_none_match == NULL || strstr(call->if_none_match, answer->etag) == NULL)
		return;
	answer->status = 304;
	answer->content_type = NULL;
	strbuf_reset(&answer->body);
}

static bool negotiate_form(const struct apiserver_call *call, struct apiserver_accept *accept,
			   struct apiserver_answer *ret)
{
	CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
	if (apiserver_accept_parse(call->accept, APISERVER_ACCEPT_REPLY, accept, &err) == 0)
		return true;
	apiserver_answer_refuse_plain(ret, 406, "NotAcceptable", err.s);
	return false;
}

/* Frees the tree. */
static void send_tree(const struct apiserver_call *call, struct apiserver_answer *ret,
		      json_t *object)
{
	struct apiserver_accept accept;
	if (negotiate_form(call, &accept, ret)) {
		ret->content_type = apiserver_accept_type(&accept);
		if (accept.form == APISERVER_FORM_YAML) {
			api_yaml_write(&ret->body, object);
		} else {
			char *text =
				json_dumps(object, accept.pretty ? JSON_INDENT(2) : JSON_COMPACT);
			strbuf_adds(&ret->body, text);
			strbuf_addc(&ret->body, '\n');
			free(text);
		}
		set_etag(ret, call);
	}
	json_decref(object);
}

/* --- by path --- */

struct inquiry {
	struct apiserver_discovery *discovery;
	const struct apiserver_call *call;
	struct apiserver_answer *ret;
};

static void serve_api(const struct inquiry *inquiry)
{
	send_tree(inquiry->call, inquiry->ret, make_api_versions(inquiry->discovery));
}

static void serve_apis(const struct inquiry *inquiry)
{
	send_tree(inquiry->call, inquiry->ret, make_api_group_list(inquiry->discovery));
}

static void serve_version(const struct inquiry *inquiry)
{
	send_tree(inquiry->call, inquiry->ret, make_version_info(inquiry->discovery));
	inquiry->ret->etag[0] = '\0';
}

static void serve_root(const struct inquiry *inquiry)
{
	static const char *const fixed[] = { "/healthz",    "/livez",  "/metrics", "/openapi/v2",
					     "/openapi/v3", "/readyz", "/version" };
	json_t *paths = json_pack("[s,s,s]", "/api", "/api/v1", "/apis");
	for (size_t i = 0; i < inquiry->discovery->catalogue.n_versions; i++) {
		const struct apiserver_group_version *gv =
			&inquiry->discovery->catalogue.versions[i];
		if (gv->group[0] == '\0')
			continue;
		if (gv->first)
			json_array_append_new(paths, json_sprintf("/apis/%s", gv->group));
		json_array_append_new(paths, json_sprintf("/apis/%s/%s", gv->group, gv->version));
	}
	for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
		json_array_append_new(paths, json_string(fixed[i]));
	send_tree(inquiry->call, inquiry->ret, json_pack("{so}", "paths", paths));
}

static const struct apiserver_group_version *find_group(const struct apiserver_discovery *discovery,
							const char *group)
{
	for (size_t i = 0; i < discovery->catalogue.n_versions; i++) {
		if (strcmp(discovery->catalogue.versions[i].group, group) == 0)
			return &discovery->catalogue.versions[i];
	}
	return NULL;
}

static void serve_group(const struct inquiry *inquiry, const char *group)
{
	const struct apiserver_group_version *gv = find_group(inquiry->discovery, group);
	if (gv == NULL) {
		apiserver_answer_no_such_page(inquiry->ret);
		return;
	}
	json_t *o = json_pack("{ss,ss}", "kind", "APIGroup", "apiVersion", "v1");
	json_t *rest = make_api_group(inquiry->discovery, gv);
	json_object_update(o, rest);
	json_decref(rest);
	send_tree(inquiry->call, inquiry->ret, o);
}

static void serve_group_version(const struct inquiry *inquiry, const char *group,
				const char *version)
{
	const struct apiserver_group_version *gv =
		apiserver_catalogue_find(&inquiry->discovery->catalogue, group, version);
	if (gv != NULL)
		send_tree(inquiry->call, inquiry->ret, make_api_resource_list(gv));
	else if (find_group(inquiry->discovery, group) != NULL)
		apiserver_answer_no_such_path(inquiry->ret);
	else
		apiserver_answer_no_such_page(inquiry->ret);
}

/* --- OpenAPI --- */

static char *openapi_text(const struct apiserver_discovery *discovery,
			  const struct apiserver_group_version *gv)
{
	json_t *o = apiserver_openapi_v3(gv, discovery->git_version);
	char *text = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	return text;
}

static void group_version_path(const struct apiserver_group_version *gv, char *out, size_t len)
{
	if (gv->group[0] == '\0')
		snprintf(out, len, "api/%s", gv->version);
	else
		snprintf(out, len, "apis/%s/%s", gv->group, gv->version);
}

static void serve_v3_index(const struct inquiry *inquiry)
{
	struct apiserver_discovery *discovery = inquiry->discovery;
	json_t *paths = json_object();
	pthread_mutex_lock(&discovery->lock);
	for (size_t i = 0; i < discovery->catalogue.n_versions; i++) {
		char path[PATH_PART_MAX];
		group_version_path(&discovery->catalogue.versions[i], path, sizeof(path));
		if (discovery->hashes[i][0] == '\0') {
			CLEANUP(freep)
			char *text = openapi_text(discovery, &discovery->catalogue.versions[i]);
			hash_text(text, strlen(text), discovery->hashes[i]);
		}
		json_t *url = json_sprintf("/openapi/v3/%s?hash=%s", path, discovery->hashes[i]);
		json_object_set_new(paths, path, json_pack("{so}", "serverRelativeURL", url));
	}
	pthread_mutex_unlock(&discovery->lock);
	send_tree(inquiry->call, inquiry->ret, json_pack("{so}", "paths", paths));
}

/* Always JSON: clients that prefer protobuf accept it, too. */
static void serve_v3(const struct inquiry *inquiry, const char *what)
{
	const struct apiserver_discovery *discovery = inquiry->discovery;
	for (size_t i = 0; i < discovery->catalogue.n_versions; i++) {
		char path[PATH_PART_MAX];
		group_version_path(&discovery->catalogue.versions[i], path, sizeof(path));
		if (strcmp(path, what) != 0)
			continue;
		CLEANUP(freep)
		char *text = openapi_text(discovery, &discovery->catalogue.versions[i]);
		strbuf_adds(&inquiry->ret->body, text);
		set_etag(inquiry->ret, inquiry->call);
		return;
	}
	apiserver_answer_no_such_page(inquiry->ret);
}

static void serve_v2(const struct inquiry *inquiry)
{
	const char *accept = inquiry->call->accept != NULL ? inquiry->call->accept : "";
	/* Only this form; clients spell its name in two ways. */
	if (*accept != '\0' && strstr(accept, "proto-openapi.spec.v2") == NULL &&
	    strstr(accept, "*/*") == NULL) {
		apiserver_answer_refuse_plain(
			inquiry->ret, 406, "NotAcceptable",
			"only the following media types are accepted: "
			"application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
		return;
	}
	apiserver_openapi_v2(&inquiry->discovery->catalogue, inquiry->discovery->git_version,
			     &inquiry->ret->body);
	inquiry->ret->content_type = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
	set_etag(inquiry->ret, inquiry->call);
}

static const struct {
	const char *path;
	void (*serve)(const struct inquiry *inquiry);
} fixed_paths[] = {
	{ "/", serve_root },
	{ "/api", serve_api },
	{ "/apis", serve_apis },
	{ "/version", serve_version },
	{ "/openapi/v3", serve_v3_index },
	{ "/openapi/v2", serve_v2 },
};

/* Splits "G/V" into at most two parts; false when there are more. */
static bool split_two_parts(const char *text, char part[2][PATH_PART_MAX])
{
	struct slice rest = slice_of(text);
	part[0][0] = part[1][0] = '\0';
	for (size_t i = 0; rest.p != NULL; i++) {
		struct slice s = slice_cut(&rest, '/');
		if (i == 2 || s.n >= PATH_PART_MAX)
			return false;
		memcpy(part[i], s.p, s.n);
		part[i][s.n] = '\0';
	}
	return true;
}

static bool serve_path(const struct inquiry *inquiry, const char *path)
{
	char part[2][PATH_PART_MAX];
	for (size_t i = 0; i < ARRAY_LEN(fixed_paths); i++) {
		if (strcmp(path, fixed_paths[i].path) == 0) {
			fixed_paths[i].serve(inquiry);
			return true;
		}
	}
	if (strncmp(path, "/openapi/v3/", strlen("/openapi/v3/")) == 0) {
		serve_v3(inquiry, path + strlen("/openapi/v3/"));
		return true;
	}
	bool core = strncmp(path, "/api/", strlen("/api/")) == 0;
	bool named = strncmp(path, "/apis/", strlen("/apis/")) == 0;
	if ((!core && !named) || !split_two_parts(path + strlen(core ? "/api/" : "/apis/"), part))
		return false;
	if (core && part[1][0] != '\0')
		return false;
	if (core)
		serve_group_version(inquiry, "", part[0]);
	else if (part[0][0] == '\0')
		apiserver_answer_no_such_page(inquiry->ret);
	else if (part[1][0] == '\0')
		serve_group(inquiry, part[0]);
	else
		serve_group_version(inquiry, part[0], part[1]);
	return true;
}

bool apiserver_discovery_serve(struct apiserver_discovery *discovery,
			       const struct apiserver_call *call, struct apiserver_answer *ret)
{
	struct apiserver_answer answer;
	const struct inquiry inquiry = { .discovery = discovery, .call = call, .ret = &answer };
	size_t n = strlen(call->path);
	CLEANUP(freep)
	char *path = xstrndup(call->path, n > 1 && call->path[n - 1] == '/' ? n - 1 : n);
	apiserver_answer_init(&answer);
	if (!serve_path(&inquiry, path)) {
		strbuf_done(&answer.body);
		return false;
	}
	if (call->method != HTTP_GET && call->method != HTTP_HEAD) {
		answer.etag[0] = '\0';
		apiserver_answer_no_such_method(&answer);
	}
	*ret = answer;
	return true;
}

struct apiserver_discovery *apiserver_discovery_new(const struct apiserver_resource *const *rows,
						    size_t count, const char *version,
						    const char *address, const char *controllers)
{
	struct apiserver_discovery *discovery = xcalloc(1, sizeof(*discovery));
	apiserver_catalogue_init(&discovery->catalogue, rows, count);
	discovery->git_version =
		xasprintf("v" KUBERNETES_MAJOR "." KUBERNETES_MINOR ".0+fairlead.%s", version);
	discovery->address = xstrdup(address);
	discovery->controllers = controllers != NULL ? xstrdup(controllers) : NULL;
	discovery->hashes =
		xcalloc(discovery->catalogue.n_versions + 1, sizeof(*discovery->hashes));
	pthread_mutex_init(&discovery->lock, NULL);
	return discovery;
}

void apiserver_discovery_free(struct apiserver_discovery *discovery)
{
	if (discovery == NULL)
		return;
	apiserver_catalogue_done(&discovery->catalogue);
	pthread_mutex_destroy(&discovery->lock);
	free(discovery->hashes);
	free(discovery->git_version);
	free(discovery->controllers);
	free(discovery->address);
	free(discovery);
}
