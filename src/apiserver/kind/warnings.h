/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Warnings about an accepted object, for the response's Warning headers. */
#pragma once

#include <jansson.h>

#include "apiserver/kind/resource.h"
#include "base/strbuf.h"

/* Appends one line per warning. `object` is valid and has its defaults; `old` is NULL for a new one. */
void apiserver_warnings(const struct apiserver_resource *resource, const json_t *object,
			const json_t *old, struct strbuf *out);
