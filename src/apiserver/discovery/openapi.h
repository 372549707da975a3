/* SPDX-License-Identifier: GPL-3.0-or-later */
/* OpenAPI v3 documents of what is served, as small as kubectl accepts them. */
#pragma once

#include <jansson.h>

#include "apiserver/discovery/catalogue.h"
#include "base/strbuf.h"

/* The document of one group version, new: a patch operation for each kind with the query parameters
 * by which clients detect features, and schemas for `kubectl explain`. */
json_t *apiserver_openapi_v3(const struct apiserver_group_version *gv, const char *version);

/* {"group":...,"kind":...,"version":...}, new. */
json_t *apiserver_openapi_gvk(const struct apiserver_resource *resource);
/* "/apis/G/V/namespaces/{namespace}/things/{name}" */
void apiserver_openapi_path(const struct apiserver_resource *resource, struct strbuf *out);
