/* Base64. */
#include "base/base64.h"

#include <stdint.h>

#include "base/err.h"

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

/* 0 to 63, or -1. */
static int value_of(char c)
{
	const char *at = c != '\0' ? strchr(letters, c) : NULL;
	return at != NULL ? (int)(at - letters) : -1;
}

static int decode(struct strbuf *out, struct slice text)
{
	uint32_t v = 0;
	unsigned n = 0, pads = 0;
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];
		if (ascii_isspace(c))
			continue;
		int six = c == '=' ? 0 : value_of(c);
		pads += c == '=';
		/* Padding stands at the end of the last four, at most two. */
		if (six < 0 || (pads != 0 && c != '=') || (c == '=' && n < 2) || pads > 2)
			return ERR_PARSE;
		v = v << 6 | (uint32_t)six;
		if (++n < 4)
			continue;
		char three[3] = { (char)(v >> 16), (char)(v >> 8), (char)v };
		if ((pads == 1 && (v & 0xff) != 0) || (pads == 2 && (v & 0xffff) != 0))
			return ERR_PARSE; /* bits that say nothing must be zero */
		strbuf_add(out, three, 3 - pads);
		v = n = 0;
	}
	return n == 0 ? 0 : ERR_PARSE;
}

int base64_decode(struct strbuf *out, struct slice text)
{
	size_t before = out->n;
	int r = decode(out, text);
	if (r < 0 && out->n > before) {
		out->n = before;
		out->s[before] = '\0';
	}
	return r;
}
