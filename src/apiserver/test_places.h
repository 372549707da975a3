/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests that put values where the API does not expect them: an object of every kind, every
 * place that a schema has, and every way to write an object. */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/kind.h"
#include "api/meta.h"
#include "api/tree.h"
#include "api/yaml/yaml.h"
#include "apiserver/api.h"
#include "apiserver/kind/resource.h"
#include "apiserver/store/store.h"
#include "apiserver/verb/dispatch.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* ---- the API, without HTTP ---- */

struct places_api {
	char dir[64];
	struct apiserver_store *store;
	struct apiserver_api *api;
};

static inline void places_open(struct places_api *p)
{
	char err[512];
	snprintf(p->dir, sizeof(p->dir), "/tmp/places.XXXXXX");
	if (mkdtemp(p->dir) == NULL)
		abort();
	const struct apiserver_store_conf store = { .dir = p->dir, .compact_every_ns = UINT64_MAX };
	if (apiserver_store_open(&store, &p->store, ERR_TEXT(err)) < 0)
		abort();
	const struct apiserver_api_conf conf = { .store = p->store };
	if (apiserver_api_new(&conf, &p->api, ERR_TEXT(err)) < 0)
		abort();
}

static inline void places_close(struct places_api *p)
{
	CLEANUP(freep) char *command = xasprintf("rm -rf %s", p->dir);
	apiserver_api_free(p->api);
	apiserver_store_close(p->store);
	if (system(command) != 0)
		abort();
}

/* ---- ways to write ---- */

static const struct places_way {
	const char *name;
	enum http_method method;
	const char *type;
	bool built_in; /* for built-in kinds only */
	bool makes;    /* a new object; the others change one */
	bool status;   /* to the status subresource */
} places_ways[] = {
	{ "create", HTTP_POST, "application/json", false, true, false },
	{ "update", HTTP_PUT, "application/json", false, false, false },
	{ "json", HTTP_PATCH, "application/json-patch+json", false, false, false },
	{ "merge", HTTP_PATCH, "application/merge-patch+json", false, false, false },
	{ "strategic", HTTP_PATCH, "application/strategic-merge-patch+json", true, false, false },
	{ "apply", HTTP_PATCH, "application/apply-patch+yaml", false, false, false },
	{ "apply new", HTTP_PATCH, "application/apply-patch+yaml", false, true, false },
	{ "update status", HTTP_PUT, "application/json", false, false, true },
	{ "merge status", HTTP_PATCH, "application/merge-patch+json", false, false, true },
	{ "apply status", HTTP_PATCH, "application/apply-patch+yaml", false, false, true },
};

static inline bool places_fits(const struct places_way *way, const struct apiserver_resource *r)
{
	const unsigned verb = way->method == HTTP_POST	? APISERVER_CREATE
			      : way->method == HTTP_PUT ? APISERVER_UPDATE
							: APISERVER_PATCH;
	return (r->verbs & verb) != 0 && (r->built_in || !way->built_in) &&
	       (r->status || !way->status);
}

static inline void places_path(struct strbuf *out, const struct apiserver_resource *r)
{
	if (r->kind->group[0] != '\0')
		strbuf_addf(out, "/apis/%s/%s", r->kind->group, r->version);
	else
		strbuf_addf(out, "/api/%s", r->version);
	strbuf_addf(out, "%s/%s", r->kind->namespaced ? "/namespaces/default" : "",
		    r->kind->plural);
}

/* Any request, with an object or its table as the answer; that is the caller's
 * (apiserver_answer_done). */
static inline void places_ask(struct places_api *p, enum http_method method, const char *path,
			      const char *type, struct slice body, bool dry_run, bool table,
			      struct apiserver_answer *ret)
{
	static const char *const groups[] = { "system:masters", NULL };
	static const struct apiserver_identity who = { .user = "u",
						       .groups = groups,
						       .system = true };
	const struct apiserver_arg args[] = { { "fieldManager", "m" },
					      { "force", "true" },
					      { "dryRun", "All" } };
	const bool applies = strstr(type, "apply") != NULL;
	struct apiserver_arg given[3];
	size_t n = 0;
	if (method != HTTP_GET)
		given[n++] = args[0];
	if (applies)
		given[n++] = args[1];
	if (dry_run)
		given[n++] = args[2];
	const struct apiserver_call call = {
		.method = method,
		.method_text = "X",
		.path = path,
		.args = given,
		.n_args = n,
		.accept =
			table ? "application/json;as=Table;v=v1;g=meta.k8s.io" : "application/json",
		.content_type = type,
		.if_none_match = "",
		.user_agent = "places/1.0",
		.body = body,
		.who = &who,
	};
	apiserver_dispatch(p->api, &call, ret);
}

/* Writes `o` one way; the status code. */
static inline unsigned places_write(struct places_api *p, const struct apiserver_resource *r,
				    const struct places_way *way, const char *name, const json_t *o,
				    bool table, struct strbuf *ret_said)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	json_t *whole = NULL;
	struct apiserver_answer answer;
	places_path(&path, r);
	if (way->method == HTTP_PATCH && way->makes)
		name = "fresh";
	if (way->method != HTTP_POST)
		strbuf_addf(&path, "/%s%s", name, way->status ? "/status" : "");
	if (way->makes && way->method == HTTP_PATCH) {
		o = whole = json_deep_copy(o);
		if (strcmp(api_name(o), "") != 0)
			json_object_set_new(json_object_get(whole, "metadata"), "name",
					    json_string(name));
	}
	if (strcmp(way->name, "json") == 0)
		o = whole = json_pack("[{ss,ss,sO}]", "op", "replace", "path", "", "value", o);
	CLEANUP(freep) char *text = json_dumps(o, JSON_COMPACT | JSON_ENCODE_ANY);
	places_ask(p, way->method, path.s, way->type, slice_of(text), true, table, &answer);
	unsigned status = answer.status;
	if (ret_said != NULL) {
		strbuf_reset(ret_said);
		strbuf_add(ret_said, answer.body.s, answer.body.n);
	}
	apiserver_answer_done(&answer);
	json_decref(whole);
	return status;
}

/* ---- an object of every kind ---- */

static inline const char *places_built_in(const char *kind)
{
	static const struct {
		const char *kind, *text;
	} rows[] = {
		{ "ConfigMap", "{data: {k: v}, binaryData: {b: YQ==}}" },
		{ "Secret", "{data: {k: YQ==}, type: Opaque}" },
		{ "Namespace", "{}" },
		{ "Service", "{spec: {type: NodePort, selector: {a: b}, ports: [{port: 1}]}}" },
		{ "Endpoints",
		  "{subsets: [{addresses: [{ip: 192.0.2.1, hostname: a, nodeName: n1, targetRef: "
		  "{kind: Pod, name: p}}], notReadyAddresses: [{ip: 192.0.2.2}], ports: [{name: a, "
		  "port: 80, protocol: TCP, appProtocol: http}]}]}" },
		{ "EndpointSlice", "{addressType: IPv4, endpoints: [{addresses: [192.0.2.1]}], "
				   "ports: [{port: 1}]}" },
		{ "Ingress",
		  "{spec: {rules: [{host: a.b, http: {paths: [{path: /, pathType: Exact, "
		  "backend: {service: {name: s, port: {number: 1}}}}]}}]}}" },
		{ "Pod", "{spec: {containers: [{name: c, image: i}]}}" },
		{ "Node", "{spec: {podCIDRs: [192.0.2.0/24]}}" },
		{ "ServiceAccount", "{}" },
		{ "Lease", "{spec: {holderIdentity: h, leaseDurationSeconds: 1}}" },
		{ "Event", "{involvedObject: {namespace: default}, reason: r}" },
		{ "Event.events.k8s.io",
		  "{eventTime: \"2020-01-01T00:00:00.000000Z\", reportingController: a.b/c, "
		  "reportingInstance: i, action: a, reason: r, type: Normal, "
		  "regarding: {namespace: default}}" },
		{ "SelfSubjectAccessReview", "{spec: {resourceAttributes: {verb: get}}}" },
		{ "SelfSubjectRulesReview", "{spec: {namespace: default}}" },
		{ "SelfSubjectReview", "{}" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (strcmp(rows[i].kind, kind) == 0)
			return rows[i].text;
	}
	return NULL;
}

static inline json_t *places_parse(const char *text)
{
	struct srcerr err;
	json_t *o;
	return api_yaml_parse_one("places", slice_of(text), &o, &err) == 0 ? o : NULL;
}

/* The first object of the kind among tests/kube/objects, of this version or of any; `dir` is this
 * folder. */
static inline json_t *places_product(const char *dir, const struct apiserver_resource *r,
				     bool any_version)
{
	static const char *const files[] = { "config", "dns", "dnsrecord", "egress", "ipam" };
	json_t *found = NULL;
	for (size_t i = 0; i < ARRAY_LEN(files) && found == NULL; i++) {
		CLEANUP(freep)
		char *name = xasprintf("%s/../../tests/kube/objects/%s.yaml", dir, files[i]);
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		struct api_docs docs;
		struct srcerr err;
		FILE *f = fopen(name, "re");
		char buf[4096];
		if (f == NULL)
			return NULL;
		for (size_t n; (n = fread(buf, 1, sizeof(buf), f)) > 0;)
			strbuf_add(&text, buf, n);
		fclose(f);
		if (api_yaml_parse(name, strbuf_slice(&text), &docs, &err) < 0)
			abort();
		for (size_t k = 0; k < docs.n && found == NULL; k++) {
			const struct apiserver_resource *its = apiserver_resource_of(docs.v[k]);
			if (its == r || (any_version && its != NULL && its->kind == r->kind))
				found = json_incref(docs.v[k]);
		}
		api_docs_done(&docs);
	}
	return found;
}

/* A definition that is there; NULL for another kind. */
static inline json_t *places_definition(const char *kind)
{
	const struct apiserver_resource *r =
		apiserver_resource_find("k8s.ovn.org", "v1", "dnsnames");
	return strcmp(kind, "CustomResourceDefinition") == 0 ? json_deep_copy(r->description)
							     : NULL;
}

/* An object of the kind that the API accepts; NULL where there is none. */
static inline json_t *places_base(const char *dir, const struct apiserver_resource *r)
{
	CLEANUP(strbuf_done) struct strbuf version = STRBUF_INIT, kind = STRBUF_INIT;
	strbuf_addf(&version, "%s%s%s", r->kind->group, r->kind->group[0] != '\0' ? "/" : "",
		    r->version);
	strbuf_adds(&kind, r->kind->kind);
	if (strcmp(r->kind->group, "events.k8s.io") == 0)
		strbuf_addf(&kind, ".%s", r->kind->group);
	const char *text = r->built_in ? places_built_in(kind.s) : NULL;
	json_t *o = text != NULL  ? places_parse(text)
		    : r->built_in ? places_definition(kind.s)
				  : places_product(dir, r, false);
	if (o == NULL && !r->built_in)
		o = places_product(dir, r, true);
	if (o == NULL)
		return NULL;
	json_object_set_new(o, "apiVersion", json_string(version.s));
	json_object_set_new(o, "kind", json_string(r->kind->kind));
	json_t *meta = json_pack("{ss}", "name", api_name(o)[0] != '\0' ? api_name(o) : "base");
	json_object_set_new(o, "metadata", meta);
	if (r->strategy->review != NULL)
		json_object_del(o, "metadata"); /* an answer has none */
	return o;
}

/* ---- places ---- */

/* A place: keys and, for items of lists, zeros. */
static inline void places_walk(const json_t *schema, json_t *path, json_t *out)
{
	const json_t *below = json_object_get(schema, "additionalProperties");
	const char *key;
	json_t *member;
	if (json_array_size(path) != 0)
		json_array_append_new(out, json_deep_copy(path));
	json_object_foreach (json_object_get(schema, "properties"), key, member) {
		json_array_append_new(path, json_string(key));
		places_walk(member, path, out);
		json_array_remove(path, json_array_size(path) - 1);
	}
	if (json_object_get(schema, "items") != NULL) {
		json_array_append_new(path, json_integer(0));
		places_walk(json_object_get(schema, "items"), path, out);
		json_array_remove(path, json_array_size(path) - 1);
	}
	if (json_is_object(below) ||
	    json_is_true(json_object_get(schema, "x-kubernetes-preserve-unknown-fields"))) {
		json_array_append_new(path, json_string("k"));
		places_walk(json_is_object(below) ? below : NULL, path, out);
		json_array_remove(path, json_array_size(path) - 1);
	}
}

/* All of the kind's; metadata's are the same for all kinds, and only told for some. */
static inline json_t *places_of(const struct apiserver_resource *r)
{
	static const char *const with_metadata[] = { "ConfigMap", "Namespace", "EgressFirewall" };
	json_t *out = json_array(), *path = json_array(), *schema = json_deep_copy(r->openapi);
	bool whole = false;
	for (size_t i = 0; i < ARRAY_LEN(with_metadata); i++)
		whole |= strcmp(with_metadata[i], r->kind->kind) == 0;
	if (!whole)
		json_object_del(json_object_get(json_object_get(schema, "properties"), "metadata"),
				"properties");
	places_walk(schema, path, out);
	json_decref(schema);
	json_decref(path);
	return out;
}

/* Puts the value there, and around it what the place needs. Takes the value. */
static inline void places_put(json_t *o, const json_t *path, json_t *value)
{
	json_t *at = o;
	for (size_t i = 0; i < json_array_size(path); i++) {
		const json_t *step = json_array_get(path, i), *next = json_array_get(path, i + 1);
		json_t *child;
		if (json_is_string(step))
			child = json_object_get(at, api_text(step));
		else
			child = json_array_get(at, 0);
		if (next == NULL)
			child = value;
		else if (json_is_string(next) ? json_is_object(child) : json_is_array(child))
			json_incref(child);
		else
			child = json_is_string(next) ? json_object() : json_array();
		if (json_is_string(step))
			json_object_set_new(at, api_text(step), child);
		else if (json_array_size(at) != 0)
			json_array_set_new(at, 0, child);
		else
			json_array_append_new(at, child);
		at = child;
	}
}

static inline void places_show(struct strbuf *out, const json_t *path)
{
	for (size_t i = 0; i < json_array_size(path); i++) {
		const json_t *step = json_array_get(path, i);
		if (json_is_string(step))
			strbuf_addf(out, "%s%s", i != 0 ? "." : "", api_text(step));
		else
			strbuf_adds(out, "[0]");
	}
}

/* ---- values ---- */

static const char *const places_values[] = {
	"null", "7",	  "\"text\"",	  "[]",		 "{}",	  "true",
	"1.5",	"[null]", "{\"k\":null}", "99999999999", "\"!\"",
};

static inline json_t *places_value(size_t i)
{
	return json_loads(places_values[i % ARRAY_LEN(places_values)], JSON_DECODE_ANY, NULL);
}
