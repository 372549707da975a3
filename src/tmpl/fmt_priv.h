/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Go's fmt verbs for one value of a basic kind. */
#pragma once

#include "tmpl/out_priv.h"

enum fmt_flag {
	FMT_SHARP = 1,
	FMT_ZERO = 2,
	FMT_PLUS = 4,
	FMT_MINUS = 8,
	FMT_SPACE = 16,
	FMT_SHARP_V = 32,
	FMT_PLUS_V = 64,
	FMT_WIDTH = 128,
	FMT_PREC = 256,
	FMT_ERRORING = 512, /* inside the text of a bad verb */
};
struct fmt {
	unsigned flags;
	size_t width, prec;
};

/* One value of a basic kind under one verb; false: the verb does not fit it. */
bool tmpl_fmt_int(struct tmpl_out *out, const struct fmt *fmt, uint32_t verb, uint64_t number,
		  bool negative);
bool tmpl_fmt_float(struct tmpl_out *out, const struct fmt *fmt, uint32_t verb, double number,
		    unsigned bits);
bool tmpl_fmt_string(struct tmpl_out *out, const struct fmt *fmt, uint32_t verb, struct slice text);
/* What was written from `start` on is moved to its width. */
void tmpl_fmt_pad(struct tmpl_out *out, const struct fmt *fmt, size_t start);
