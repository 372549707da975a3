/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An expression, a line of three dashes, an object: the expression as a rule of a fixed schema is
 * read, or refused, and what is read is evaluated, as a rule and as one about a change. Both end.
 */
#include <stdlib.h>
#include <string.h>

#include "api/schema/schema.h"
#include "base/err_text.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const char schema_text[] =
	"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"i\":{\"type\":"
	"\"integer\"},"
	"\"n\":{\"type\":\"number\"},\"t\":{\"type\":\"boolean\"},\"x\":{\"x-kubernetes-int-or-"
	"string\":true},"
	"\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
	"\"s\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"set\",\"items\":{\"type\":"
	"\"integer\"}},"
	"\"m\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}},"
	"\"o\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
	"\"string\"}}}}}}";

static void use(const json_t *schema, const json_t *o)
{
	struct api_schema *s = NULL;
	struct api_errors errs = { 0 };
	char err[256];
	if (api_schema_new(schema, &s, ERR_TEXT(err)) < 0)
		return;
	json_t *copy = json_deep_copy(o);
	api_schema_prepare(s, copy);
	api_schema_validate(s, copy, NULL, &errs);
	api_schema_validate(s, copy, copy, &errs);
	api_errors_done(&errs);
	json_decref(copy);
	api_schema_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const uint8_t *cut = n != 0 ? memmem(data, n, "\n---\n", 5) : NULL;
	if (cut == NULL || n > 16 << 10)
		return 0;
	json_t *o = json_loadb((const char *)cut + 5, n - (size_t)(cut - data) - 5, 0, NULL);
	json_t *rule = json_stringn((const char *)data, (size_t)(cut - data));
	json_t *schema = json_loads(schema_text, 0, NULL);
	if (json_is_object(o) && rule != NULL) {
		json_object_set_new(schema, "x-kubernetes-validations",
				    json_pack("[{sO},{sO,sb},{ss,sO}]", "rule", rule, "rule", rule,
					      "optionalOldSelf", 1, "rule", "false",
					      "messageExpression", rule));
		use(schema, o);
		json_object_set_new(schema, "x-kubernetes-validations",
				    json_pack("[{sO}]", "rule", rule));
		use(schema, o);
	}
	json_decref(schema);
	json_decref(rule);
	json_decref(o);
	return 0;
}
