/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads keys line by line, and decides when there should be others. */
#include "controller/egressfirewall/transfer/key_text.h"

#include <inttypes.h>

#include "base/err.h"
#include "base/rng.h"
#include "base/text/base64.h"

#define ALGORITHM   "hmac-sha256"
#define NAME_PREFIX "egress-"

enum { SECRET_BYTES = 32 };

/* The next line with a key; false: there is none. */
static bool next_line(struct slice *rest, struct slice *ret)
{
	while (rest->p != NULL && rest->n != 0) {
		struct slice line = slice_trim(slice_cut(rest, '\n'));
		if (line.n == 0 || line.p[0] == '#')
			continue;
		*ret = line;
		return true;
	}
	return false;
}

static struct slice limit_text(struct slice text)
{
	return text.n <= EGRESSFIREWALL_TRANSFER_KEYS_BYTES ? text : SLICE("");
}

/* When the controller made the key; false: it did not. */
static bool read_time(struct slice line, uint64_t *ret)
{
	struct slice algorithm = slice_cut(&line, ':');
	struct slice name = slice_cut(&line, ':');
	return slice_is(algorithm, ALGORITHM) && slice_starts(name, SLICE(NAME_PREFIX)) &&
	       slice_u64(slice_from(name, sizeof(NAME_PREFIX) - 1), ret) == 0;
}

static void add_new_key(struct strbuf *out, uint64_t now_s)
{
	char bytes[SECRET_BYTES];
	rng_secure(bytes, sizeof(bytes));
	strbuf_addf(out, ALGORITHM ":" NAME_PREFIX "%" PRIu64 ":", now_s);
	base64_encode(out, (struct slice){ bytes, sizeof(bytes) });
	strbuf_addc(out, '\n');
	explicit_bzero(bytes, sizeof(bytes));
}

static void add_line(struct strbuf *out, struct slice line)
{
	strbuf_add_slice(out, line);
	strbuf_addc(out, '\n');
}

bool egressfirewall_transfer_keys_renew(struct slice text, uint64_t now_s, struct strbuf *out)
{
	struct slice line, newest = SLICE("");
	uint64_t made_s, newest_s = 0;
	size_t count = 0;
	if (text.n > EGRESSFIREWALL_TRANSFER_KEYS_BYTES)
		return false;
	for (struct slice rest = text; next_line(&rest, &line); count++) {
		if (!read_time(line, &made_s))
			return false;
		if (count == 0 || made_s > newest_s) {
			newest = line;
			newest_s = made_s;
		}
	}
	if (count == 0 || now_s >= newest_s + EGRESSFIREWALL_TRANSFER_KEY_AGE_S) {
		add_new_key(out, now_s);
		if (count != 0)
			add_line(out, newest);
		return true;
	}
	if (count == 1 || now_s < newest_s + EGRESSFIREWALL_TRANSFER_OVERLAP_S)
		return false;
	add_line(out, newest);
	return true;
}

size_t egressfirewall_transfer_keys_count(struct slice text)
{
	struct slice line, rest = limit_text(text);
	size_t count = 0;
	while (count < EGRESSFIREWALL_TRANSFER_KEYS_MAX && next_line(&rest, &line))
		count++;
	return count;
}

int egressfirewall_transfer_keys_pick(struct slice text, size_t index, struct dns_tsig_key *ret,
				      struct err_text reterr)
{
	struct slice line, rest = limit_text(text);
	for (size_t i = 0; next_line(&rest, &line); i++) {
		if (i == index)
			return dns_tsig_key_parse(ret, line, reterr);
	}
	err_text_set(reterr, "there is no key");
	return ERR_NOTFOUND;
}
