/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs programs beside this one for as long as it runs: a program that ends, however it ends, is
 * started again, after a delay that doubles while it keeps ending soon.
 *
 * A child gets its own process group, no signal blocked or ignored, /dev/null as standard input, and
 * of the open files only standard output and standard error. What it leaves in its process group is
 * killed when it ends. It is killed when this process dies by whatever cause; if that is SIGKILL or a
 * crash, nobody is left to kill what the child itself has started: programs that start others should
 * ask the kernel for a signal at their own parent's death (PR_SET_PDEATHSIG), or run in a unit of
 * systemd, which ends with all its processes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"

struct supervise;

struct supervise_program {
	const char *name;	 /* for the log and the report */
	const char *const *argv; /* ended by NULL; argv[0] is a path, PATH is not searched */
};

/* Zeroes: defaults. */
struct supervise_times {
	uint64_t delay_ns;     /* before the second start; default 1 s */
	uint64_t delay_max_ns; /* it doubles up to this; default 60 s */
	uint64_t settle_ns;    /* who runs for this long is well again; default 10 s */
	uint64_t stop_ns;      /* from SIGTERM to SIGKILL; default 5 s */
};

/* Starts the programs on a thread of its own; what is pointed to is copied. A program that cannot be
 * executed is no error here: it is reported, and tried again. */
MUST_CHECK int supervise_start(const struct supervise_program *programs, size_t count,
			       const struct supervise_times *times, struct supervise **ret,
			       struct err_text err);
/* Ends the programs, in the order of SIGTERM, waiting, SIGKILL, and frees. NULL is fine. */
void supervise_stop(struct supervise *supervise);
/* Calls `fn` for each program: is it well, and a sentence about its state. Any thread, while it was
 * not stopped. */
typedef void (*supervise_report_fn)(void *ctx, const char *name, bool well, const char *text);
void supervise_report(struct supervise *supervise, supervise_report_fn fn, void *ctx);
