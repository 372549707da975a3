/* The OpenAPI v2 document, which kubectl reads for validation and completion. */
#pragma once

#include "apiserver/discovery/catalogue.h"
#include "base/strbuf.h"

/* The OpenAPI v2 document of all, in protobuf (gnostic's openapi_v2.Document): paths and nothing
 * else, since kubectl takes a kind with an incomplete definition for a wrong one. */
void apiserver_openapi_v2(const struct apiserver_catalogue *apiserver_catalogue,
			  const char *version, struct strbuf *out);
