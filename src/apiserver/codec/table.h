/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Objects as rows of a Table (meta.k8s.io), which `kubectl get` prints, and as metadata only
 * (PartialObjectMetadata). Both are appended as text, so that a long list needs no second tree. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "apiserver/kind/resource.h"
#include "base/compiler.h"
#include "base/strbuf.h"

/* What a row carries beside its cells. */
enum apiserver_include {
	APISERVER_INCLUDE_METADATA, /* the default */
	APISERVER_INCLUDE_NONE,
	APISERVER_INCLUDE_OBJECT,
};

struct apiserver_table {
	const struct apiserver_resource *resource;
	const char *meta_version; /* as of struct apiserver_accept */
	enum apiserver_include include;
	uint64_t now_s; /* for ages */
};

/* Parses the parameter includeObject; "" or NULL is the default. ERR_PARSE: answer 400, reason
 * BadRequest, with the message in `err`. */
MUST_CHECK int apiserver_table_include(const char *arg, enum apiserver_include *ret,
				       struct strbuf *err);

/* A list: begin, a row for each object; the caller closes it with "]}". `list_meta` is the list's
 * metadata; `columns`: with columnDefinitions, which only the first event of a watch has. Trees are
 * borrowed. */
void apiserver_table_begin(struct strbuf *out, const struct apiserver_table *table,
			   const json_t *list_meta, bool columns);
void apiserver_table_row(struct strbuf *out, const struct apiserver_table *table,
			 const json_t *object);
/* One object, or the object of an event of a watch. */
void apiserver_table_object(struct strbuf *out, const struct apiserver_table *table,
			    const json_t *object, bool columns);

/* {"kind":"PartialObjectMetadata",...}; items of a PartialObjectMetadataList are written so too. */
void apiserver_table_partial(struct strbuf *out, const char *meta_version, const json_t *object);
