/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The OpenAPI v2 document, which kubectl reads for validation and completion. */
#pragma once

#include "apiserver/discovery/catalogue.h"
#include "base/strbuf.h"

/* Appends the document in protobuf (gnostic's openapi_v2.Document). It has paths and no
 * definitions, since kubectl refuses objects whose definition is incomplete. */
void apiserver_openapi_v2(const struct apiserver_catalogue *catalogue, const char *version,
			  struct strbuf *out);
