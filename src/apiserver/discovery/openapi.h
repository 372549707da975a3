/* OpenAPI documents of what is served, as small as kubectl lets them be (spec 3.3 and 6.3). */
#pragma once

#include <jansson.h>

#include "apiserver/discovery/catalogue.h"
#include "base/strbuf.h"

/* The OpenAPI v3 document of one group version: a patch operation for each kind, with the query
 * parameters that tell clients what the server can do, and schemas, which `kubectl explain` prints.
 * New. */
json_t *apiserver_openapi_v3(const struct apiserver_group_version *gv, const char *version);

/* {"group":...,"kind":...,"version":...}, new. */
json_t *apiserver_openapi_gvk(const struct apiserver_resource *resource);
/* "/apis/G/V/namespaces/{namespace}/things/{name}" */
void apiserver_openapi_path(const struct apiserver_resource *resource, struct strbuf *out);
