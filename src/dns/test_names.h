/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The longest names there are, for tests: arrays that hold a name are filled to their last byte. */
#pragma once

#include <stddef.h>
#include <string.h>

#define LABEL_59 "abcdefghijklmnopqrstuvwxyz-0123456789-abcdefghijklmnopqrstu"
#define LABEL_63 "ABCDEFGHIJKLMNOPQRSTUVWXYZ-0123456789-abcdefghijklmnopqrstuvwxy"
#define LABELS_8 "a.b.c.d.e.f.g.h."
#define LABELS_120                                                                                \
	LABELS_8 LABELS_8 LABELS_8 LABELS_8 LABELS_8 LABELS_8 LABELS_8 LABELS_8 LABELS_8 LABELS_8 \
		LABELS_8 LABELS_8 LABELS_8 LABELS_8 LABELS_8

/* Of 253, 254 and 255 octets: in four labels, and in as many as a name can have. */
static const char *const longest_names[] = {
	LABEL_63 "." LABEL_63 "." LABEL_63 "." LABEL_59 ".",
	LABEL_63 "." LABEL_63 "." LABEL_63 "." LABEL_59 "v.",
	LABEL_63 "." LABEL_63 "." LABEL_63 "." LABEL_59 "vw.",
	LABELS_120 "u.v.w.x.y.z.",
	LABELS_120 "u.v.w.x.y.zz.",
	LABELS_120 "u.v.w.x.y.z.z.",
};
enum { LONGEST_NAMES = sizeof(longest_names) / sizeof(longest_names[0]) };

/* What their length is, by index. */
static inline size_t longest_name_octets(size_t i)
{
	return 253 + i % 3;
}

/* A name of that many octets that ends in `suffix`, whose labels before it have `label` letters or
 * one more. `out` has room for 256 bytes. */
static inline const char *long_name_below(const char *suffix, size_t octets, size_t label,
					  char *out)
{
	size_t n = 0, left = octets - 1 - strlen(suffix);
	while (left > 0) {
		size_t letters = left <= label + 2 ? left - 1 : label;
		memset(out + n, 'a', letters);
		out[n + letters] = '.';
		n += letters + 1;
		left -= letters + 1;
	}
	memcpy(out + n, suffix, strlen(suffix) + 1);
	return out;
}
