/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Advice as a table for people and as JSON for programs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "advise/advice.h"
#include "base/strbuf.h"

/* What was read. */
struct advise_input {
	uint64_t queries;
	uint64_t other_lines;	       /* that are no lines of the log plugin */
	struct slice first_other_line; /* FILE:LINE; empty without such lines */
};

/* What a replay found is part of the report, where it is asked for. */
struct advise_report {
	const struct advise_advice *advice;
	const struct advise_input *input;
	bool has_replay;
};

void advise_report_table(const struct advise_report *report, struct strbuf *out);
void advise_report_json(const struct advise_report *report, struct strbuf *out);
/* Whether a replay of each advised namespace changes no answer. */
bool advise_report_is_proven(const struct advise_advice *advice);
