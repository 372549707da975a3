/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CustomResourceDefinitions of the product's kinds, as objects. */
#pragma once

#include <jansson.h>

#include "apiserver/kind/resource.h"

/* The CustomResourceDefinition of a resource, with its status, as a new object; NULL for a built-in
 * kind. `now` is a time as objects contain it. */
json_t *apiserver_crd_object(const struct apiserver_resource *resource, const char *now);
