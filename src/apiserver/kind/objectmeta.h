/* What every object must hold to: its name, labels and the rest of its metadata. */
#pragma once

#include <jansson.h>

#include "api/fielderr.h"
#include "apiserver/kind/resource.h"
#include "base/strbuf.h"

enum { APISERVER_ANNOTATIONS_MAX_BYTES = 256 << 10 };

/* Owners that stand twice are taken out; `when` is put into the warning. */
void apiserver_drop_duplicate_owners(json_t *object, const char *when, struct strbuf *warnings);
/* `old` is NULL for a new object, whose name is made already when it was to be generated. */
void apiserver_objectmeta_validate(const struct apiserver_resource *resource, const json_t *object,
				   const json_t *old, struct api_errors *errs);
