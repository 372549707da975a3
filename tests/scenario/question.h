/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The arguments of `ask` and `send`: `NAME TYPE` and options. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "testing/fake_server.h"

struct question {
	struct fake_ask ask; /* points into the fields below */
	unsigned repeat;
	bool unordered; /* records may come in any order */
	bool varied;	/* over the repetitions at least two orders must come */
	char text[4096];
	uint8_t options[2048];
	uint8_t raw[4096];
};

/* `why` gets what is wrong with it. */
MUST_CHECK int question_parse(const char *args, struct question *q, struct err_text why);
