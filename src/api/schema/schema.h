/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Structural schemas of CRDs: what the API server does with an object by its schema, done here with
 * the same results and the same messages (compared with a real server: tests/kube/test_schema.py).
 *
 *	api_schema_prepare(schema, object)	what a write does first: removes unknown fields and
 *						nulls, sets defaults
 *	api_schema_validate(schema, object, ...)	returns all errors
 *
 * A compiled schema is not changed by use and may be shared by threads. A keyword, format or rule
 * that is not known here is an error when the schema is compiled, never ignored. */
#pragma once

#include "api/schema/compile.h"
#include "api/schema/prepare.h"
#include "api/schema/validate.h"
