/* OpenAPI documents of what is served, as small as kubectl lets them be. */
#pragma once

#include <jansson.h>

#include "apiserver/discovery/catalogue.h"
#include "base/strbuf.h"

/* The OpenAPI v3 document of one group version: a patch operation for each kind, with the query
 * parameters that tell clients what the server can do, and schemas, which `kubectl explain` prints.
 * New. */
json_t *apiserver_openapi_v3(const struct apiserver_gv *gv, const char *version);

/* The OpenAPI v2 document of all, in protobuf (gnostic's openapi_v2.Document): paths and nothing
 * else, since kubectl takes a kind with an incomplete definition for a wrong one. */
void apiserver_openapi_v2(const struct apiserver_catalogue *apiserver_catalogue,
			  const char *version, struct strbuf *out);
