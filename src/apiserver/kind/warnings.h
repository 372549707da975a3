/* What the server warns of in an object that it accepts, by kind: Warning headers of the answer. */
#pragma once

#include <jansson.h>

#include "apiserver/kind/resource.h"
#include "base/strbuf.h"

/* Appends a line for each. `object` is valid and has its defaults. */
void apiserver_warnings(const struct apiserver_resource *resource, const json_t *object,
			struct strbuf *out);
