/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of wrong types in what a strategic merge patch or an apply made of an object of a built-in
 * kind. */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "apiserver/kind/resource.h"
#include "base/compiler.h"
#include "base/err_text.h"

/* ERR_TYPE with the server's message for the first value of a wrong type. */
MUST_CHECK int apiserver_strict_convert(const struct apiserver_resource *resource,
					const json_t *object, struct err_text err);
/* Truncates integers of 32-bit fields as the server's conversion to Go types does. */
void apiserver_strict_narrow(const struct apiserver_resource *resource, json_t *object);
