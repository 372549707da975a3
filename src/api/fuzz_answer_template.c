/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as an answer template: refused, or its record reads back as reported. */
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
	strbuf_addf(&text, "{{ .Name }} %u IN AAAA %s", got.ttl_s, got.address);
	int r = api_answer_template_parse(strbuf_slice(&text), &again, ERR_TEXT(err));
	assert(r == 0 && got.ttl_s == again.ttl_s && strcmp(got.address, again.address) == 0);
	return 0;
}
