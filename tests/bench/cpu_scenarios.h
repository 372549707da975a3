/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What bench-cpu can measure: a Corefile and the questions that go with it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

struct cpu_scenario {
	const char *name;
	/* Writes the Corefile; n is the field below. @UP@ in it becomes the address of an upstream
	 * that answers every A question, @DIR@ a folder that `files` has written to. */
	void (*corefile)(struct strbuf *t, unsigned n);
	unsigned n;
	const char *qname; /* printf format of one number */
	uint16_t qtype;
	unsigned names;					/* how many numbers; 0: 256 */
	void (*files)(const char *dir, unsigned names); /* may be NULL */
};

extern const struct cpu_scenario cpu_scenarios[];
extern const size_t cpu_n_scenarios;
