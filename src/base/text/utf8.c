/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decodes and encodes one character of UTF-8 at a time; refuses overlong forms and surrogates. */
#include "base/text/utf8.h"

size_t utf8_decode(struct slice text, uint32_t *ret_cp)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	if (text.n == 0)
		return 0;
	unsigned char c = (unsigned char)text.p[0];
	size_t n = c < 0x80 ? 1 : (c >> 5) == 6 ? 2 : (c >> 4) == 14 ? 3 : (c >> 3) == 30 ? 4 : 0;
	if (n == 0 || n > text.n)
		return 0;
	uint32_t cp = n == 1 ? c : c & (0x7fU >> n);
	for (size_t i = 1; i < n; i++) {
		unsigned char t = (unsigned char)text.p[i];
		if ((t & 0xc0) != 0x80)
			return 0;
		cp = cp << 6 | (t & 0x3f);
	}
	if (cp < least[n] || cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
		return 0;
	*ret_cp = cp;
	return n;
}

size_t utf8_encode(uint32_t cp, char out[4])
{
	if (cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
		cp = 0xfffd;
	if (cp < 0x80) {
		out[0] = (char)cp;
		return 1;
	}
	size_t n = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
	for (size_t i = n - 1; i > 0; i--) {
		out[i] = (char)(0x80 | (cp & 0x3f));
		cp >>= 6;
	}
	out[0] = (char)((0xf00U >> n & 0xf0) | cp);
	return n;
}

size_t utf8_length(struct slice text)
{
	size_t n = 0;
	for (uint32_t cp; text.n != 0; n++) {
		size_t took = utf8_decode(text, &cp);
		text = slice_from(text, took != 0 ? took : 1);
	}
	return n;
}

bool utf8_is_invisible(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} blocks[] = {
		{ 0xad, 0xad },	    { 0x61c, 0x61c },	{ 0x180e, 0x180e },
		{ 0x200b, 0x200f }, { 0x202a, 0x202e }, { 0x2060, 0x206f },
		{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
	};
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		if (code >= blocks[i].first && code <= blocks[i].last)
			return true;
	}
	return false;
}
