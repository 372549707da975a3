/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading `www.example.org. A edns=1232 do client=192.0.2.7:53` and the like. */
#include "question.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/slice.h"
#include "base/err_text.h"
#include "dns/request.h"
#include "dns/types.h"

static int hex_digit(char c)
{
	if (ascii_isdigit(c))
		return c - '0';
	char l = ascii_lower(c);
	return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

/* Bytes written, or negative. */
static int from_hex(struct slice s, uint8_t *out, size_t cap)
{
	if (s.n % 2 != 0 || s.n / 2 > cap)
		return ERR_PARSE;
	for (size_t i = 0; i < s.n; i += 2) {
		int a = hex_digit(s.p[i]), b = hex_digit(s.p[i + 1]);
		if (a < 0 || b < 0)
			return ERR_PARSE;
		out[i / 2] = (uint8_t)(a << 4 | b);
	}
	return (int)(s.n / 2);
}

static int parse_u16(const char *text, uint16_t *ret)
{
	uint64_t n;
	if (slice_u64(slice_of(text), &n) < 0 || n > UINT16_MAX)
		return ERR_RANGE;
	*ret = (uint16_t)n;
	return 0;
}

static int set_edns(struct question *q, char *value)
{
	return parse_u16(value, &q->ask.udp_size);
}

static int set_port(struct question *q, char *value)
{
	return parse_u16(value, &q->ask.listen_port);
}

static int set_client(struct question *q, char *value)
{
	q->ask.client = value;
	return 0;
}

static int set_local(struct question *q, char *value)
{
	q->ask.local = value;
	return 0;
}

static int set_class(struct question *q, char *value)
{
	q->ask.cls = value;
	return 0;
}

static int set_flags(struct question *q, char *value)
{
	static const struct {
		const char *name;
		uint16_t bit;
	} bits[] = {
		{ "qr", DNS_FLAG_QR }, { "aa", DNS_FLAG_AA },  { "tc", DNS_FLAG_TC },
		{ "rd", DNS_FLAG_RD }, { "ra", DNS_FLAG_RA },  { "ad", DNS_FLAG_AD },
		{ "cd", DNS_FLAG_CD }, { "none", DNS_FLAG_Z },
	};
	struct slice rest = slice_of(value);
	while (rest.n > 0) {
		struct slice name = slice_cut(&rest, ',');
		size_t i = 0;
		while (i < ARRAY_LEN(bits) && !slice_is(name, bits[i].name))
			i++;
		if (i == ARRAY_LEN(bits))
			return ERR_PARSE;
		q->ask.flags |= bits[i].bit;
	}
	return 0;
}

/* opt=10:0123456789abcdef */
static int set_opt(struct question *q, char *value)
{
	struct slice rest = slice_of(value);
	struct slice code = slice_cut(&rest, ':');
	uint8_t *at = q->options + q->ask.options_n;
	uint64_t n;
	if (slice_u64(code, &n) < 0 || n > UINT16_MAX ||
	    q->ask.options_n + 4 + rest.n / 2 > sizeof(q->options))
		return ERR_PARSE;
	int len = from_hex(rest, at + 4, sizeof(q->options) - q->ask.options_n - 4);
	if (len < 0)
		return len;
	dns_put16(at, (uint16_t)n);
	dns_put16(at + 2, (uint16_t)len);
	q->ask.options = q->options;
	q->ask.options_n += 4 + (size_t)len;
	return 0;
}

static int set_raw(struct question *q, char *value)
{
	int n = from_hex(slice_of(value), q->raw, sizeof(q->raw));
	if (n < 0)
		return n;
	q->ask.raw = q->raw;
	q->ask.raw_n = (size_t)n;
	return 0;
}

static int set_repeat(struct question *q, char *value)
{
	uint16_t n;
	int r = parse_u16(value, &n);
	q->repeat = r == 0 ? n : 0;
	return r == 0 && n == 0 ? ERR_RANGE : r;
}

static int set_do(struct question *q, char *value)
{
	q->ask.dnssec_ok = true;
	return value == NULL ? 0 : ERR_PARSE;
}

static int set_unordered(struct question *q, char *value)
{
	q->unordered = true;
	return value == NULL ? 0 : ERR_PARSE;
}

static int set_varied(struct question *q, char *value)
{
	q->unordered = q->varied = true;
	return value == NULL ? 0 : ERR_PARSE;
}

static const struct {
	const char *name;
	bool has_value;
	int (*set)(struct question *q, char *value);
} words[] = {
	{ "client", true, set_client },
	{ "local", true, set_local },
	{ "port", true, set_port },
	{ "class", true, set_class },
	{ "flags", true, set_flags },
	{ "edns", true, set_edns },
	{ "do", false, set_do },
	{ "opt", true, set_opt },
	{ "raw", true, set_raw },
	{ "repeat", true, set_repeat },
	{ "unordered", false, set_unordered },
	{ "varied", false, set_varied },
};

static int parse_word(struct question *q, char *word)
{
	char *value = strchr(word, '=');
	if (value != NULL)
		*value++ = '\0';
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(words[i].name, word) == 0 && words[i].has_value == (value != NULL))
			return words[i].set(q, value);
	}
	return ERR_PARSE;
}

int question_parse(const char *args, struct question *q, struct err_text why)
{
	*q = (struct question){ .repeat = 1 };
	unsigned n = 0;
	char *save = NULL;
	snprintf(q->text, sizeof(q->text), "%s", args);
	for (char *w = strtok_r(q->text, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save)) {
		bool is_raw = strncmp(w, "raw=", 4) == 0;
		n++;
		if (n == 1 && !is_raw) {
			q->ask.name = w;
		} else if (n == 2 && q->ask.raw == NULL) {
			q->ask.type = w;
			if (dns_type_parse(slice_of(w), true) < 0) {
				err_text_set(why, "'%s' is no type", w);
				return ERR_PARSE;
			}
		} else if (parse_word(q, w) < 0) {
			err_text_set(why, "'%s' is not understood", w);
			return ERR_PARSE;
		}
	}
	if (q->ask.raw == NULL && n < 2) {
		err_text_set(why, "expected NAME TYPE or raw=HEX");
		return ERR_PARSE;
	}
	return 0;
}
