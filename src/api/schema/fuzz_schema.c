/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Documents of YAML: the first is a schema, or a whole CRD; the others are objects, each of them an
 * update of the one before. Whatever they hold, reading, preparing and validating end, and
 * preparing once more changes nothing. */
#include <stdlib.h>

#include "api/meta.h"
#include "api/schema/schema.h"
#include "api/yaml/yaml.h"
#include "base/err_text.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void use(const struct api_schema *s, json_t *o, const json_t *old)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct api_errors errs = { 0 };
	api_schema_prepare(s, o);
	api_schema_prepare(s, o); /* a default may itself hold what is pruned */
	json_t *copy = json_deep_copy(o);
	api_schema_prepare(s, o);
	if (!json_equal(copy, o))
		abort();
	json_decref(copy);
	api_schema_validate(s, o, old, &errs);
	api_errors_text(&errs, "Kind.group", "name", &text);
	json_decref(api_errors_causes(&errs));
	api_errors_done(&errs);
}

static const json_t *schema_of_crd(const json_t *crd)
{
	return api_get(json_array_get(api_get(crd, "spec.versions"), 0), "schema.openAPIV3Schema");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct api_docs d = { 0 };
	struct srcerr err = { 0 };
	struct api_schema *s = NULL;
	char text[256];
	if (n > 64 << 10 ||
	    api_yaml_parse("f", (struct slice){ (const char *)data, n }, &d, &err) < 0)
		return 0;
	if (d.n != 0 && (api_schema_new(schema_of_crd(d.v[0]), &s, ERR_TEXT(text)) == 0 ||
			 api_schema_new(d.v[0], &s, ERR_TEXT(text)) == 0)) {
		for (size_t i = 1; i < d.n; i++)
			use(s, d.v[i], i > 1 ? d.v[i - 1] : NULL);
		api_schema_free(s);
	}
	api_docs_done(&d);
	return 0;
}
