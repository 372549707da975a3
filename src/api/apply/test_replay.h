/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: one recorded write done here (tests/kube/applylib.py records them).
 *
 * A kind is {schema, apiVersion, crd?, reset?, resetStatus?, versions?, empty?}; a step is
 * {do, manager, sub?, force?, version?, time, body}, `do` being create, update, merge, json,
 * strategic or apply. The answer is {object} or {error, message, causes?}. What a server does
 * beside apply is done as far as recorded kinds need it: custom resources are pruned and defaulted,
 * a write of one half of an object leaves the other. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/apply/managed.h"
#include "api/meta.h"
#include "api/patch/patch.h"
#include "api/patch/strategic.h"
#include "api/schema/schema.h"
#include "api/tree.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"

static inline const char *replay_text(const json_t *v, const char *key)
{
	const char *s = json_string_value(json_object_get(v, key));
	return s != NULL ? s : "";
}

/* A list of texts as C wants it; free it. */
static inline const char **replay_texts(const json_t *list)
{
	size_t i;
	json_t *v;
	const char **out = xcalloc(json_array_size(list) + 1, sizeof(*out));
	json_array_foreach (list, i, v)
		out[i] = json_string_value(v);
	return out;
}

/* The object that an update makes, before managedFields; NULL with *err. */
static inline json_t *replay_updated(const json_t *kind, const json_t *step, const json_t *live,
				     struct err_text err)
{
	const char *how = replay_text(step, "do");
	const json_t *body = json_object_get(step, "body");
	json_t *out = NULL;
	int r = 0;
	if (strcmp(how, "merge") == 0)
		out = api_merge_apply(live, body);
	else if (strcmp(how, "json") == 0)
		r = api_json_patch(live, body, &out, err);
	else if (strcmp(how, "strategic") == 0)
		r = api_strategic_apply(json_object_get(kind, "schema"), live, body, &out, err);
	else
		out = json_incref(api_tree(body));
	if (r < 0)
		return NULL;
	json_t *copy = json_deep_copy(out);
	json_decref(out);
	return copy;
}

/* Nulls and what is empty go, as they do when Go's types are written. */
static inline void replay_compact(json_t *v)
{
	const char *k;
	json_t *item;
	void *tmp;
	size_t i;
	json_array_foreach (v, i, item)
		replay_compact(item);
	json_object_foreach_safe(v, tmp, k, item)
	{
		if (strcmp(k, "managedFields") == 0)
			continue;
		replay_compact(item);
		if (json_is_null(item) ||
		    ((json_is_object(item) || json_is_array(item)) && json_object_size(item) == 0 &&
		     json_array_size(item) == 0))
			json_object_del(v, k);
	}
}

/* Pruned and defaulted, as objects of CRDs are when they are read; metadata is of Go's types. */
static inline void replay_prepare(const json_t *kind, json_t *o)
{
	char err[512];
	struct api_schema *s = NULL;
	if (!json_is_true(json_object_get(kind, "crd")))
		return;
	if (api_schema_new(json_object_get(kind, "schema"), &s, ERR_TEXT(err)) == 0)
		api_schema_prepare(s, o);
	else
		json_object_set_new(o, "schema", json_string(err));
	api_schema_free(s);
	replay_compact(json_object_get(o, "metadata"));
}

/* A part of one object in another. */
static inline void replay_part(json_t *to, const json_t *from, const char *name)
{
	const json_t *v = json_object_get(from, name);
	if (v != NULL)
		json_object_set_new(to, name, json_deep_copy(v));
	else
		json_object_del(to, name);
}

/* What a write cannot change is as it was. */
static inline json_t *replay_store(const json_t *kind, const json_t *step, const json_t *live,
				   const json_t *o)
{
	bool status = strcmp(replay_text(step, "sub"), "status") == 0;
	bool crd = json_is_true(json_object_get(kind, "crd"));
	json_t *out = json_deep_copy(status && crd ? live : o);
	if (status && crd) {
		replay_part(json_object_get(out, "metadata"), json_object_get(o, "metadata"),
			    "managedFields");
		replay_part(out, o, "status");
	} else if (json_object_get(kind, "reset") != NULL) {
		replay_part(out, live, status ? "spec" : "status");
	}
	if (!crd)
		replay_compact(out);
	api_managed_keep_times(live, out);
	return out;
}

static inline json_t *replay_failed(int r, const char *message, const struct api_conflicts *c)
{
	json_t *out = json_pack("{ss,ss}", "error",
				r == ERR_CONFLICT ? "conflict"
				: r == ERR_CONFIG ? "bad"
				: r == ERR_PARSE  ? "bad"
				: r == ERR_TYPE	  ? "type"
						  : err_str(r),
				"message", message);
	if (c->n > 0) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		api_conflicts_text(c, &text);
		json_object_set_new(out, "message", json_string(text.s));
		json_object_set_new(out, "causes", api_conflicts_causes(c));
	}
	return out;
}

/* `before` is as the last reply had it. */
static inline json_t *replay_step(const json_t *kind, const json_t *step, const json_t *before)
{
	char err[4096] = "";
	bool status = strcmp(replay_text(step, "sub"), "status") == 0;
	struct api_conflicts conflicts = { 0 };
	const char **reset = replay_texts(json_object_get(kind, status ? "resetStatus" : "reset"));
	const char **versions = replay_texts(json_object_get(kind, "versions"));
	const char *version = replay_text(step, "version");
	if (version[0] == '\0')
		version = replay_text(kind, "apiVersion");
	json_t *live = before != NULL ? json_deep_copy(before) : NULL;
	if (live != NULL)
		json_object_set_new(live, "apiVersion", json_string(version));
	struct api_managed_write w = {
		.schema = json_object_get(kind, "schema"),
		.live = live != NULL ? live : json_object_get(kind, "empty"),
		.manager = replay_text(step, "manager"),
		.subresource = replay_text(step, "sub"),
		.api_version = version,
		.time = replay_text(step, "time"),
		.reset = reset,
		.versions = versions,
		.built_in = !json_is_true(json_object_get(kind, "crd")),
	};
	json_t *o = NULL, *out = NULL, *answer;
	int r = ERR_PARSE;
	if (strcmp(replay_text(step, "do"), "apply") == 0) {
		r = api_managed_apply(&w, json_object_get(step, "body"),
				      json_is_true(json_object_get(step, "force")), &out,
				      &conflicts, ERR_TEXT(err));
		if (r == 0)
			replay_prepare(kind, out);
	} else if ((o = replay_updated(kind, step, live, ERR_TEXT(err))) != NULL) {
		replay_prepare(kind, o);
		r = api_managed_update(&w, o, &out, ERR_TEXT(err));
	}
	if (r == 0) {
		answer = json_pack("{so}", "object", replay_store(kind, step, live, out));
	} else {
		answer = replay_failed(r, err, &conflicts);
	}
	api_conflicts_done(&conflicts);
	json_decref(o);
	json_decref(out);
	json_decref(live);
	free(reset);
	free(versions);
	return answer;
}
