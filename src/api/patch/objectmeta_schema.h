/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The schema of metadata. */
#pragma once

#include <jansson.h>

/* Types, list types and merge keys of ObjectMeta, for schemas that do not describe metadata. Borrowed;
 * any thread. */
const json_t *api_objectmeta_schema(void);
