/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as an answer template: refused, or its records read back as reported. */
#include <assert.h>
#include <string.h>

#include "api/answer_template.h"
#include "base/err_text.h"
#include "base/strbuf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct api_answer got, again;
	char err[256];
	if (api_answer_template_parse((struct slice){ (const char *)data, n }, &got,
				      ERR_TEXT(err)) < 0) {
		assert(err[0] != '\0');
		return 0;
	}
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	for (size_t i = 0; i < got.n; i++)
		strbuf_addf(&text, "%s{{.Name}} %u AAAA %s", i != 0 ? "\n" : "", got.ttl_s,
			    got.address[i]);
	if (text.n > API_ANSWER_TEMPLATE_CHARS_MAX)
		return 0; /* addresses and TTLs have shorter forms */
	int r = api_answer_template_parse(strbuf_slice(&text), &again, ERR_TEXT(err));
	assert(r == 0 && got.ttl_s == again.ttl_s && got.n == again.n);
	for (size_t i = 0; i < got.n; i++)
		assert(strcmp(got.address[i], again.address[i]) == 0);
	return 0;
}
