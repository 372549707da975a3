/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Domain names in wire form. Length bytes are at most 63 and so lie below 'A': a whole name can be
 * lower-cased or compared eight bytes at a time without looking at its label boundaries. */
#include "dns/name.h"

#include <string.h>

#include "base/err.h"

const uint8_t dns_name_root[1] = { 0 };

enum { WORD = sizeof(uint64_t), POINTER_BITS = 0xc0 };

static inline uint64_t load_word(const uint8_t *pos)
{
	uint64_t w;
	memcpy(&w, pos, sizeof(w));
	return w;
}

/* Sets bit 5 of each byte that is an upper-case ASCII letter. Sums cannot carry into a neighbour
 * because the top bit of each byte is masked off first. */
static inline uint64_t lower_word(uint64_t word)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t low7 = word & ones * 0x7f;
	uint64_t from_a = low7 + ones * (0x80 - 'A');
	uint64_t past_z = low7 + ones * (0x7f - 'Z');
	uint64_t upper = (from_a ^ past_z) & ~word & ones * 0x80;
	return word | upper >> 2;
}

static inline uint8_t lower_byte(uint8_t ch)
{
	return (uint8_t)(ch - 'A') < 26 ? (uint8_t)(ch | 0x20) : ch;
}

size_t dns_name_len(const uint8_t *name)
{
	const uint8_t *p = name;
	while (*p != 0)
		p += 1 + *p;
	return (size_t)(p - name) + 1;
}

unsigned dns_name_labels(const uint8_t *name)
{
	unsigned n = 0;
	for (; *name != 0; name += 1 + *name)
		n++;
	return n;
}

static bool eq_nocase(const uint8_t *left, const uint8_t *right, size_t len)
{
	for (; len >= WORD; len -= WORD, left += WORD, right += WORD) {
		uint64_t x = load_word(left);
		uint64_t y = load_word(right);
		if (x != y && lower_word(x) != lower_word(y))
			return false;
	}
	for (; len > 0; len--)
		if (lower_byte(*left++) != lower_byte(*right++))
			return false;
	return true;
}

bool dns_name_eq(const uint8_t *left, const uint8_t *right)
{
	size_t n = dns_name_len(left);
	return n == dns_name_len(right) && eq_nocase(left, right, n);
}

bool dns_name_eq_case(const uint8_t *left, const uint8_t *right)
{
	size_t n = dns_name_len(left);
	return n == dns_name_len(right) && memcmp(left, right, n) == 0;
}

bool dns_name_is_below(const uint8_t *name, const uint8_t *zone)
{
	size_t left = dns_name_len(name);
	size_t zone_len = dns_name_len(zone);
	while (left > zone_len) {
		left -= 1U + *name;
		name += 1 + *name;
	}
	return left == zone_len && eq_nocase(name, zone, left);
}

size_t dns_name_lower(const uint8_t *name, uint8_t out[DNS_NAME_MAX])
{
	size_t n = dns_name_len(name);
	size_t i = 0;
	for (; i + WORD <= n; i += WORD) {
		uint64_t w = lower_word(load_word(name + i));
		memcpy(out + i, &w, sizeof(w));
	}
	for (; i < n; i++)
		out[i] = lower_byte(name[i]);
	return n;
}

/* Reads the escape after a backslash at *pos (the byte after it); advances past it. */
static int read_escape(struct slice text, size_t *pos, uint8_t *ret)
{
	const char *p = text.p + *pos;
	size_t left = text.n - *pos;
	if (left == 0)
		return ERR_PARSE;
	if (left >= 3 && ascii_isdigit(p[0]) && ascii_isdigit(p[1]) && ascii_isdigit(p[2])) {
		int v = (p[0] - '0') * 100 + (p[1] - '0') * 10 + (p[2] - '0');
		if (v > 255)
			return ERR_PARSE;
		*pos += 3;
		*ret = (uint8_t)v;
		return 0;
	}
	*pos += 1;
	*ret = (uint8_t)p[0];
	return 0;
}

/* Writes the length of the label that starts at out[start] and ends before out[end]. */
static int close_label(uint8_t *out, size_t start, size_t end)
{
	size_t n = end - start - 1;
	if (n == 0 || n > DNS_LABEL_MAX)
		return ERR_PARSE;
	out[start] = (uint8_t)n;
	return 0;
}

int dns_name_from_text(struct slice text, uint8_t out[DNS_NAME_MAX])
{
	size_t start = 0; /* of the open label: its length byte */
	size_t at = 1;
	if (text.n == 0)
		return ERR_PARSE;
	if (text.n == 1 && text.p[0] == '.') {
		out[0] = 0;
		return 1;
	}
	for (size_t i = 0; i < text.n;) {
		uint8_t c = 0;
		for (; i < text.n && at < DNS_NAME_MAX; i++) {
			c = (uint8_t)text.p[i];
			if (c == '.' || c == '\\')
				break;
			out[at++] = c;
		}
		if (i == text.n)
			break;
		if (at >= DNS_NAME_MAX)
			return ERR_PARSE;
		i++;
		if (c == '.') {
			if (close_label(out, start, at) < 0)
				return ERR_PARSE;
			start = at++;
		} else if (read_escape(text, &i, &out[at++]) < 0) {
			return ERR_PARSE;
		}
	}
	if (at - start > 1) { /* no final dot */
		if (close_label(out, start, at) < 0 || at >= DNS_NAME_MAX)
			return ERR_PARSE;
		start = at++;
	}
	out[start] = 0;
	return (int)at;
}

/* How a byte of a label is written. */
enum escape { ESC_NONE, ESC_BACKSLASH, ESC_DECIMAL };

static inline enum escape escape_of(uint8_t ch)
{
	switch (ch) {
	case '.':
	case ' ':
	case '\'':
	case '@':
	case ';':
	case '(':
	case ')':
	case '"':
	case '\\':
		return ESC_BACKSLASH;
	default:
		return ch < ' ' || ch > '~' ? ESC_DECIMAL : ESC_NONE;
	}
}

static char *put_label_byte(char *out, uint8_t ch)
{
	switch (escape_of(ch)) {
	case ESC_BACKSLASH:
		*out++ = '\\';
		break;
	case ESC_DECIMAL:
		*out++ = '\\';
		*out++ = (char)('0' + ch / 100);
		*out++ = (char)('0' + ch / 10 % 10);
		ch = (uint8_t)('0' + ch % 10);
		break;
	case ESC_NONE:
		break;
	}
	*out++ = (char)ch;
	return out;
}

size_t dns_name_to_text(const uint8_t *name, bool lower, char out[DNS_NAME_TEXT_MAX])
{
	char *o = out;
	if (*name == 0)
		*o++ = '.';
	while (*name != 0) {
		const uint8_t *end = name + 1 + *name;
		for (name++; name < end; name++)
			o = put_label_byte(o, lower ? lower_byte(*name) : *name);
		*o++ = '.';
	}
	*o = '\0';
	return (size_t)(o - out);
}

int dns_name_unpack(const uint8_t *msg, size_t size, size_t off, uint8_t out[DNS_NAME_MAX])
{
	size_t chunk = off; /* where the labels now being read began */
	size_t after = 0;   /* behind the first pointer */
	size_t len = 0;
	for (;;) {
		if (off >= size)
			return ERR_PARSE;
		size_t c = msg[off];
		if (c <= DNS_LABEL_MAX) {
			/* A label must leave room for the root label. */
			if (c >= size - off || len + 1 + c + (c != 0) > DNS_NAME_MAX)
				return ERR_PARSE;
			memcpy(out + len, msg + off, c + 1);
			len += c + 1;
			off += c + 1;
			if (c == 0)
				return (int)(after != 0 ? after : off);
			continue;
		}
		if (c < POINTER_BITS || size - off < 2)
			return ERR_PARSE;
		size_t to = (c & ~(size_t)POINTER_BITS) << 8 | msg[off + 1];
		/* Only to before these labels: so chains shrink and cannot loop. */
		if (to >= chunk)
			return ERR_PARSE;
		if (after == 0)
			after = off + 2;
		off = chunk = to;
	}
}

int dns_name_skip(const uint8_t *msg, size_t len, size_t off)
{
	size_t start = off;
	while (off < len) {
		size_t c = msg[off];
		if (c == 0)
			return (int)(off + 1);
		if (c >= POINTER_BITS)
			return len - off >= 2 ? (int)(off + 2) : ERR_PARSE;
		off += c + 1;
		if (c > DNS_LABEL_MAX || off - start >= DNS_NAME_MAX)
			return ERR_PARSE;
	}
	return ERR_PARSE;
}
