/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Base64 of any bytes: no crash, and what is taken comes back the same when encoded. */
#include <stdint.h>
#include <stdlib.h>

#include "base/text/base64.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf again = STRBUF_INIT;
	if (base64_decode(&bytes, (struct slice){ (const char *)data, n }) < 0)
		return 0;
	base64_encode(&text, strbuf_slice(&bytes));
	if (base64_decode(&again, strbuf_slice(&text)) < 0 ||
	    !slice_eq(strbuf_slice(&again), strbuf_slice(&bytes)))
		abort();
	return 0;
}
