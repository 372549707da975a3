/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words of a line, and the words that name policies, profiles and C libraries. */
#include "dns/podresolv/words_priv.h"

#include <stdint.h>

#include "base/text/utf8.h"
#include "dns/podresolv/podresolv.h"

/* White space beyond ASCII: first and last code point. */
static const struct {
	uint32_t first, last;
} wide_spaces[] = {
	{ 0x85, 0x85 },	    { 0xa0, 0xa0 },	{ 0x1680, 0x1680 }, { 0x2000, 0x200a },
	{ 0x2028, 0x2029 }, { 0x202f, 0x202f }, { 0x205f, 0x205f }, { 0x3000, 0x3000 },
};

/* The number of bytes of the white-space character that the text starts with, or 0. */
static size_t space_length(struct slice text)
{
	uint32_t code;
	if (ascii_isspace(text.p[0]))
		return 1;
	if ((unsigned char)text.p[0] < 0x80)
		return 0;
	size_t len = utf8_decode(text, &code);
	for (size_t i = 0; len > 0 && i < ARRAY_LEN(wide_spaces); i++) {
		if (code >= wide_spaces[i].first && code <= wide_spaces[i].last)
			return len;
	}
	return 0;
}

/* The control characters C0, DEL and C1; what terminals obey, and some programs end a line at. */
static bool starts_with_control(struct slice text)
{
	uint32_t code = (unsigned char)text.p[0];
	if (code >= 0x80 && utf8_decode(text, &code) == 0)
		return false;
	return code < ' ' || (code >= 0x7f && code <= 0x9f);
}

struct slice podresolv_next_word(struct slice *rest)
{
	size_t len, end = 0;
	while (rest->n > 0 && (len = space_length(*rest)) > 0)
		*rest = slice_from(*rest, len);
	while (end < rest->n && space_length(slice_from(*rest, end)) == 0)
		end++;
	struct slice word = { rest->p, end };
	*rest = slice_from(*rest, end);
	return word;
}

bool podresolv_is_word(struct slice text)
{
	for (size_t i = 0; i < text.n; i++) {
		struct slice rest = slice_from(text, i);
		if (starts_with_control(rest) || space_length(rest) > 0)
			return false;
	}
	return text.n > 0;
}

static bool starts_invisibly(struct slice text)
{
	uint32_t code;
	return (unsigned char)text.p[0] >= 0x80 && utf8_decode(text, &code) > 0 &&
	       utf8_is_invisible(code);
}

bool podresolv_is_visible_word(struct slice text)
{
	for (size_t i = 0; i < text.n; i++) {
		if (starts_invisibly(slice_from(text, i)))
			return false;
	}
	return podresolv_is_word(text);
}

static const struct {
	const char *word;
	enum podresolv_policy policy;
} policies[] = {
	{ "ClusterFirst", PODRESOLV_CLUSTER_FIRST },
	{ "ClusterFirstWithHostNet", PODRESOLV_CLUSTER_FIRST_WITH_HOST_NET },
	{ "Default", PODRESOLV_DEFAULT },
	{ "None", PODRESOLV_NONE },
	{ "Custom", PODRESOLV_NONE },
	{ "", PODRESOLV_CLUSTER_FIRST },
};

bool podresolv_policy_from(struct slice word, enum podresolv_policy *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
		if (slice_is(word, policies[i].word)) {
			*ret = policies[i].policy;
			return true;
		}
	}
	return false;
}

const char *podresolv_policy_name(enum podresolv_policy policy)
{
	size_t i = 0;
	while (policies[i].policy != policy)
		i++;
	return policies[i].word;
}

bool podresolv_profile_from(struct slice word, enum podresolv_profile *ret)
{
	static const char *const names[] = {
		[PODRESOLV_KUBELET] = "kubelet",
		[PODRESOLV_SEED] = "seed",
		[PODRESOLV_LIBC_SAFE] = "libc-safe",
	};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (slice_is(word, names[i])) {
			*ret = (enum podresolv_profile)i;
			return true;
		}
	}
	return false;
}

bool podresolv_libc_from(struct slice word, enum podresolv_libc *ret)
{
	static const char *const names[] = {
		[PODRESOLV_ANY_LIBC] = "any",
		[PODRESOLV_GLIBC] = "glibc",
		[PODRESOLV_MUSL] = "musl",
	};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (slice_is(word, names[i])) {
			*ret = (enum podresolv_libc)i;
			return true;
		}
	}
	return false;
}
