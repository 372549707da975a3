/* What both versions of OpenAPI documents share. */
#pragma once

#include <jansson.h>

#include "apiserver/kind/resource.h"
#include "base/strbuf.h"

/* {"group":...,"kind":...,"version":...}, new. */
json_t *apiserver_openapi_gvk(const struct apiserver_resource *resource);
/* "/apis/G/V/namespaces/{namespace}/things/{name}" */
void apiserver_openapi_path(const struct apiserver_resource *resource, struct strbuf *out);
