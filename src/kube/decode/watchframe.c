/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses the small objects of the watch protocol (bookmarks, errors, metadata of lists) with jansson. */
#include "kube/decode/watchframe.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "api/meta.h"
#include "base/err.h"

enum kube_event kube_event_of(struct slice type)
{
	static const struct {
		const char *name;
		enum kube_event event;
	} rows[] = {
		{ "ADDED", KUBE_EVENT_ADDED },	   { "MODIFIED", KUBE_EVENT_MODIFIED },
		{ "DELETED", KUBE_EVENT_DELETED }, { "BOOKMARK", KUBE_EVENT_BOOKMARK },
		{ "ERROR", KUBE_EVENT_ERROR },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (slice_is(type, rows[i].name))
			return rows[i].event;
	}
	return KUBE_EVENT_UNKNOWN;
}

static int load_object(struct slice text, json_t **ret)
{
	json_t *o = json_loadb(text.p, text.n, 0, NULL);
	if (!json_is_object(o)) {
		json_decref(o);
		return ERR_PARSE;
	}
	*ret = o;
	return 0;
}

/* A resource version: digits, and not so many that it cannot be one. */
static int copy_version(char out[32], const char *rv)
{
	size_t n = strlen(rv);
	if (n == 0 || n >= 32 || strspn(rv, "0123456789") != n)
		return ERR_PARSE;
	memcpy(out, rv, n + 1);
	return 0;
}

int kube_bookmark_parse(struct slice object, struct kube_bookmark *ret)
{
	json_t *o = NULL;
	struct kube_bookmark b = { 0 };
	int r = load_object(object, &o);
	if (r < 0)
		return r;
	r = copy_version(b.rv, api_resource_version(o));
	const char *end = api_annotation(o, "k8s.io/initial-events-end");
	b.initial_end = end != NULL && strcmp(end, "true") == 0;
	json_decref(o);
	if (r == 0)
		*ret = b;
	return r;
}

static bool has_cause(const json_t *object, const char *reason)
{
	const json_t *cause;
	size_t i;
	json_array_foreach (api_get(object, "details.causes"), i, cause) {
		if (strcmp(api_get_string(cause, "reason"), reason) == 0)
			return true;
	}
	return false;
}

int kube_error_parse(struct slice object, struct kube_error *ret)
{
	json_t *o = NULL;
	struct kube_error e = { 0 };
	int r = load_object(object, &o);
	if (r < 0)
		return r;
	json_int_t code = json_integer_value(json_object_get(o, "code"));
	e.code = code > 0 && code < 1000 ? (int)code : 0;
	IGNORE(snprintf(e.reason, sizeof(e.reason), "%s", api_get_string(o, "reason")) < 0);
	IGNORE(snprintf(e.message, sizeof(e.message), "%s", api_get_string(o, "message")) < 0);
	e.too_large = has_cause(o, "ResourceVersionTooLarge");
	json_decref(o);
	*ret = e;
	return 0;
}

bool kube_error_is_gone(const struct kube_error *error)
{
	return error->code == 410 || strcmp(error->reason, "Expired") == 0 ||
	       strcmp(error->reason, "Gone") == 0;
}

int kube_list_meta_parse(struct slice metadata, struct kube_list_meta *ret)
{
	json_t *o = NULL;
	char rv[32];
	int r = load_object(metadata, &o);
	if (r < 0)
		return r;
	const char *next = api_get_string(o, "continue");
	r = copy_version(rv, api_get_string(o, "resourceVersion"));
	if (r == 0 && next[0] != '\0' && strcmp(next, ret->next.s) == 0)
		r = ERR_PARSE;
	if (r == 0) {
		memcpy(ret->rv, rv, sizeof(rv));
		strbuf_reset(&ret->next);
		strbuf_adds(&ret->next, next);
	}
	json_decref(o);
	return r;
}
