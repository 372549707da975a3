/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes the questions to admission hooks of what is written, and refusals, warnings and the changed
 * object of their verdicts. */
#include "apiserver/verb/admission.h"

#include <assert.h>
#include <string.h>

#include "api/meta.h"
#include "api/tree_copy.h"
#include "apiserver/codec/strict_convert.h"
#include "apiserver/request/object.h"
#include "base/err_text.h"
#include "base/slice.h"

enum { CODE_MIN = 400, CODE_MAX = 599 };

/* ---- verdicts ---- */

static bool has_line(const struct strbuf *lines, struct slice line)
{
	struct slice rest = strbuf_slice(lines);
	while (rest.n != 0) {
		if (slice_eq(slice_cut(&rest, '\n'), line))
			return true;
	}
	return false;
}

/* A write may be tried several times: each warning is sent once. */
static void add_warnings(const struct apiserver_writing *writing, const struct strbuf *warnings)
{
	struct slice rest = strbuf_slice(warnings);
	while (writing->warnings != NULL && rest.n != 0) {
		struct slice line = slice_cut(&rest, '\n');
		if (line.n == 0 || has_line(writing->warnings, line))
			continue;
		strbuf_add_slice(writing->warnings, line);
		strbuf_addc(writing->warnings, '\n');
	}
}

/* The Status of a web hook's answer has no reason and no details; a code that would be no refusal
 * becomes 400. */
static int refuse_write(const struct apiserver_writing *writing,
			const struct apiserver_verdict *verdict)
{
	const bool is_error = verdict->code >= CODE_MIN && verdict->code <= CODE_MAX;
	const bool has_text = verdict->message.n != 0;
	return apiserver_status_refuse(
		writing->status, is_error ? verdict->code : CODE_MIN, "",
		"admission webhook \"%s\" denied the request%s%s", verdict->refused_by,
		has_text ? ": " : " without explanation", has_text ? verdict->message.s : "");
}

/* *ret_object (NULL: not wanted) as in struct apiserver_verdict. */
static int ask_hooks(const struct apiserver_writing *writing, const struct apiserver_review *review,
		     json_t **ret_object)
{
	const struct apiserver_admission *admission = writing->api->conf.admission;
	struct apiserver_verdict verdict = { .refused_by = NULL };
	int e = 0;
	strbuf_init(&verdict.message);
	strbuf_init(&verdict.warnings);
	admission->review(admission->ctx, review, &verdict);
	add_warnings(writing, &verdict.warnings);
	if (verdict.refused_by != NULL)
		e = refuse_write(writing, &verdict);
	else if (ret_object != NULL)
		*ret_object = json_incref(verdict.object);
	json_decref(verdict.object);
	strbuf_done(&verdict.message);
	strbuf_done(&verdict.warnings);
	return e;
}

/* ---- questions ---- */

static bool is_reviewed(const struct apiserver_writing *writing)
{
	return writing->api->conf.admission != NULL && writing->user != NULL;
}

/* `object` or `old` is NULL. A Namespace counts as being in itself, as in kube-apiserver. */
static struct apiserver_review make_review(const struct apiserver_writing *writing,
					   const json_t *object, const json_t *old)
{
	const struct api_kind *kind = writing->resource->kind;
	const char *name = api_name(object != NULL ? object : old);
	bool is_namespace = writing->resource->built_in && strcmp(kind->kind, "Namespace") == 0;
	assert(object != NULL || old != NULL);
	return (struct apiserver_review){
		.operation = object == NULL ? "DELETE"
			     : old == NULL  ? "CREATE"
					    : "UPDATE",
		.group = kind->group,
		.kind = kind->kind,
		.ns = is_namespace	    ? name
		      : writing->ns != NULL ? writing->ns
					    : "",
		.name = name,
		.subresource = writing->subresource,
		.user = writing->user,
		.dry_run = writing->dry_run,
		.object = object,
		.old = old,
	};
}

static void keep_members(json_t *to, const json_t *from, const char *const *names)
{
	for (; *names != NULL; names++) {
		json_t *value = json_object_get(from, *names);
		if (value != NULL)
			json_object_set_new(to, *names, api_tree_copy(value));
		else
			json_object_del(to, *names);
	}
}

/* Hooks change what a client could have written, and not who owned which field when. */
static void keep_system_fields(const struct apiserver_writing *writing, json_t *mutated,
			       const json_t *object)
{
	static const char *const identity[] = { "apiVersion", "kind", NULL };
	static const char *const status[] = { "status", NULL };
	static const char *const meta[] = { "name",
					    "generateName",
					    "namespace",
					    "uid",
					    "creationTimestamp",
					    "deletionTimestamp",
					    "deletionGracePeriodSeconds",
					    "generation",
					    "resourceVersion",
					    "managedFields",
					    "selfLink",
					    NULL };
	keep_members(mutated, object, identity);
	keep_members(apiserver_object_meta(mutated), json_object_get(object, "metadata"), meta);
	if (writing->resource->status && writing->subresource[0] == '\0')
		keep_members(mutated, object, status);
}

/* Rules of built-in kinds rely on the types of a decoded body; those of others have a schema. */
static int check_types(const struct apiserver_writing *writing, json_t *mutated)
{
	char err[512] = "";
	if (!writing->resource->built_in)
		return 0;
	if (apiserver_strict_convert(writing->resource, mutated, ERR_TEXT(err)) < 0)
		return apiserver_status_refuse(writing->status, 500, "InternalError",
					       "Internal error occurred: %s", err);
	apiserver_strict_narrow(writing->resource, mutated);
	return 0;
}

int apiserver_admission_mutate(const struct apiserver_writing *writing, const json_t *object,
			       const json_t *old, json_t **ret)
{
	json_t *mutated = NULL;
	*ret = NULL;
	if (!is_reviewed(writing))
		return 0;
	struct apiserver_review review = make_review(writing, object, old);
	review.mutates = true;
	int e = ask_hooks(writing, &review, &mutated);
	if (e < 0 || mutated == NULL)
		return e;
	keep_system_fields(writing, mutated, object);
	e = check_types(writing, mutated);
	if (e == 0)
		*ret = mutated;
	else
		json_decref(mutated);
	return e;
}

int apiserver_admission_validate(const struct apiserver_writing *writing, const json_t *object,
				 const json_t *old)
{
	if (!is_reviewed(writing))
		return 0;
	const struct apiserver_review review = make_review(writing, object, old);
	return ask_hooks(writing, &review, NULL);
}

int apiserver_admission_delete(const struct apiserver_writing *writing, const json_t *old)
{
	if (!is_reviewed(writing))
		return 0;
	struct apiserver_review review = make_review(writing, NULL, old);
	review.mutates = true;
	int e = ask_hooks(writing, &review, NULL);
	review.mutates = false;
	return e < 0 ? e : ask_hooks(writing, &review, NULL);
}
