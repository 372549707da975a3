/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text as a continue token: the decoded key must begin with the list's prefix. */
#include "apiserver/codec/continue_token.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/base64.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void read_token(const char *token)
{
	CLEANUP(strbuf_done) struct strbuf after = STRBUF_INIT, err = STRBUF_INIT;
	int64_t rv;
	if (apiserver_continue_token_read(token, "core/secrets/a/", &after, &rv, &err) == 0) {
		assert(strncmp(after.s, "core/secrets/a/", 15) == 0);
		assert(strstr(after.s, "/../") == NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP(freep) char *text = xstrndup((const char *)data, n);
	CLEANUP(strbuf_done) struct strbuf token = STRBUF_INIT;
	read_token(text);
	/* As what a token holds, too: most texts are no base64. */
	base64_encode(&token, (struct slice){ (const char *)data, n });
	while (token.n != 0 && token.s[token.n - 1] == '=')
		token.s[--token.n] = '\0';
	read_token(token.s);
	return 0;
}
