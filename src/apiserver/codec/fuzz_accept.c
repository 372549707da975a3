/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text as the header field Accept. */
#include "apiserver/codec/accept.h"

#include <stdint.h>

#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP(freep) char *text = xstrndup((const char *)data, n);
	CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
	struct apiserver_accept a;
	if (apiserver_accept_parse(text, APISERVER_ACCEPT_REPLY, &a, &err) == 0)
		IGNORE(apiserver_accept_check(&a, true, "X", &err));
	IGNORE(apiserver_accept_parse(text, APISERVER_ACCEPT_WATCH, &a, &err));
	return 0;
}
