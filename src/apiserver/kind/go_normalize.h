/* The shape that a round trip through Go's types gives an object: what is empty is left out, unless
 * the type always writes it; what is always written is there. Told by `x-go` of the schemas
 * (apiserver/kind/resource.h). */
#pragma once

#include <jansson.h>

#include "apiserver/kind/resource.h"

/* All of an object of a built-in kind. */
void apiserver_go_normalize(const struct apiserver_resource *resource, json_t *object);
/* The same by the schema alone. */
void apiserver_go_normalize_by(const json_t *schema, json_t *object);
/* Before anything else looks at the object, however it came: null in a list or map is the zero
 * value of the items' type, as Go's decoder has it. Of custom resources metadata alone has such
 * types. */
void apiserver_go_fill_nulls(const struct apiserver_resource *resource, json_t *object);
/* Metadata alone: it has Go's types in custom resources too. */
void apiserver_go_normalize_metadata(json_t *object);
