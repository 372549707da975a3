/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Encoding bytes as Base64 and decoding it, for Secrets, kubeconfigs and record data. */
#include "base/text/base64.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(struct strbuf *out, struct slice bytes)
{
	const uint8_t *p = (const uint8_t *)bytes.p;
	for (size_t i = 0; i < bytes.n; i += 3) {
		size_t left = bytes.n - i;
		uint32_t v = (uint32_t)p[i] << 16;
		if (left > 1)
			v |= (uint32_t)p[i + 1] << 8;
		if (left > 2)
			v |= p[i + 2];
		char quad[4] = { letters[v >> 18], letters[v >> 12 & 63],
				 left > 1 ? letters[v >> 6 & 63] : '=',
				 left > 2 ? letters[v & 63] : '=' };
		strbuf_add(out, quad, sizeof(quad));
	}
}

int base64_value(char ch)
{
	const char *at = ch != '\0' ? strchr(letters, ch) : NULL;
	return at != NULL ? (int)(at - letters) : -1;
}

ssize_t base64_decode_to(uint8_t *out, struct slice text)
{
	uint32_t v = 0;
	unsigned n = 0, pads = 0;
	size_t written = 0;
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];
		if (ascii_isspace(c))
			continue;
		int six = c == '=' ? 0 : base64_value(c);
		pads += c == '=';
		/* Padding stands at the end of the last four, at most two. */
		if (six < 0 || (pads != 0 && c != '=') || (c == '=' && n < 2) || pads > 2)
			return ERR_PARSE;
		v = v << 6 | (uint32_t)six;
		if (++n < 4)
			continue;
		for (unsigned k = 0; k < 3 - pads; k++)
			out[written++] = (uint8_t)(v >> (16 - 8 * k));
		v = n = 0;
	}
	return n == 0 ? (ssize_t)written : ERR_PARSE;
}

int base64_decode(struct strbuf *out, struct slice text)
{
	CLEANUP(freep) uint8_t *bytes = xmalloc(text.n / 4 * 3 + 3);
	ssize_t n = base64_decode_to(bytes, text);
	if (n >= 0)
		strbuf_add(out, bytes, (size_t)n);
	explicit_bzero(bytes, text.n / 4 * 3 + 3); /* it may have been a key */
	return n < 0 ? (int)n : 0;
}
