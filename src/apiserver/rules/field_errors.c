/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Field errors with kube-apiserver's wording, and the paths of the fields that they name. */
#include "apiserver/rules/field_errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/slice.h"
#include "base/strbuf.h"

void apiserver_add_invalid(struct api_errors *errs, const char *field, const json_t *value,
			   const char *detail)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	api_fielderr_value(&text, value);
	api_errors_add(errs, API_FIELD_INVALID, field, value != NULL ? text.s : "null", detail);
}

void apiserver_add_required(struct api_errors *errs, const char *field, const char *detail)
{
	api_errors_add(errs, API_FIELD_REQUIRED, field, NULL, detail);
}

void apiserver_add_forbidden(struct api_errors *errs, const char *field, const char *detail)
{
	api_errors_add(errs, API_FIELD_FORBIDDEN, field, NULL, detail);
}

bool apiserver_check_one_of(struct api_errors *errs, const char *field, const char *text,
			    const char *const *words)
{
	CLEANUP(strbuf_done) struct strbuf detail = STRBUF_INIT, value = STRBUF_INIT;
	strbuf_adds(&detail, "supported values: ");
	for (size_t i = 0; words[i] != NULL; i++) {
		if (strcmp(words[i], text) == 0)
			return true;
		if (i != 0)
			strbuf_adds(&detail, ", ");
		strbuf_add_quoted(&detail, slice_of(words[i]));
	}
	strbuf_add_quoted(&value, slice_of(text));
	api_errors_add(errs, API_FIELD_UNSUPPORTED, field, value.s, detail.s);
	return false;
}

void apiserver_add_duplicate(struct api_errors *errs, const char *field, const json_t *value)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	api_fielderr_value(&text, value);
	api_errors_add(errs, API_FIELD_DUPLICATE, field, text.s, "");
}

void apiserver_check_immutable(struct api_errors *errs, const char *field, const json_t *now,
			       const json_t *was)
{
	if (now != was && (now == NULL || was == NULL || !json_equal(now, was)))
		apiserver_add_invalid(errs, field, now, "field is immutable");
}

const char *apiserver_format_path(struct apiserver_path *path, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(path->s, sizeof(path->s), fmt, ap);
	va_end(ap);
	return path->s;
}
