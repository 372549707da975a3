/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text that is JSON or YAML, as the body of some kinds. */
#include <stddef.h>
#include <stdint.h>

#include "api/yaml/yaml.h"
#include "apiserver/codec/json_error.h"
#include "apiserver/codec/strict.h"
#include "apiserver/codec/strict_convert.h"
#include "base/err_text.h"
#include "base/strbuf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_json(struct slice text)
{
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT;
	return !apiserver_json_error(text, &why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const kinds[][2] = { { "", "configmaps" },
						{ "", "services" },
						{ "coordination.k8s.io", "leases" },
						{ "config.openshift.io", "featuregates" } };
	const struct slice body = { (const char *)data, size };
	struct srcerr why;
	json_t *o = json_loadb(body.p, body.n, 0, NULL);
	if (o == NULL && api_yaml_parse_one("f", body, &o, &why) < 0)
		return 0;
	if (!json_is_object(o)) {
		json_decref(o);
		return 0;
	}
	const bool json = is_json(body);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		json_t *lines = json_array();
		char err[256];
		const struct apiserver_resource *r =
			apiserver_resource_find(kinds[i][0], "v1", kinds[i][1]);
		/* either is fine */
		IGNORE(apiserver_strict_decode(r, json ? body : (struct slice){ 0 }, o, lines,
					       ERR_TEXT(err)));
		IGNORE(apiserver_strict_convert(r, o, ERR_TEXT(err)));
		json_decref(lines);
	}
	json_decref(o);
	return 0;
}
