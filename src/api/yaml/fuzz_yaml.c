/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text: parsed or refused; what was parsed is written and reads back as the same. */
#include <stdlib.h>

#include "api/yaml/yaml.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct api_docs d = { 0 }, back = { 0 };
	struct srcerr err = { 0 };
	struct srcpos pos;
	struct slice text = { (const char *)data, n };
	IGNORE(api_yaml_locate("f", text, 0, "spec.list[1].name", &pos)); /* must only not crash */
	if (api_yaml_parse("f", text, &d, &err) < 0)
		return 0;
	for (size_t i = 0; i < d.n; i++) {
		CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
		api_yaml_write(&out, d.v[i]);
		if (api_yaml_parse("f", strbuf_slice(&out), &back, &err) < 0 || back.n != 1 ||
		    !json_equal(back.v[0], d.v[i]))
			abort();
		api_docs_done(&back);
	}
	api_docs_done(&d);
	return 0;
}
