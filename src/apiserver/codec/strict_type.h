/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of wrong types in a decoded body. */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "apiserver/kind/resource.h"
#include "base/compiler.h"
#include "base/err_text.h"

/* ERR_TYPE with the message of Go's decoder for the first value of a wrong type: of the whole
 * object for built-in kinds, else of its metadata. `stored`: a value in it that is not checked, or NULL. */
MUST_CHECK int apiserver_strict_type_check(const struct apiserver_resource *resource,
					   const json_t *object, const json_t *stored,
					   struct err_text err);
