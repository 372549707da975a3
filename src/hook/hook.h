/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run of the hook: from the container's state to its resolv.conf. */
#pragma once

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "hook/storage.h"

enum hook_outcome {
	HOOK_NOT_WANTED, /* the container has none of our annotations: nothing was touched */
	HOOK_SETTLED,	 /* the file was as it should be */
	HOOK_REWRITTEN,
};

struct hook_report {
	char id[128];	     /* the container's; "" if the state did not say */
	struct strbuf notes; /* remarks about the new settings, one line each */
	struct strbuf path;  /* the file that was meant; empty if none was found */
};

/* Runs the hook on the state's text; sources may lie in these storage folders. enum hook_outcome, or a negative code with the reason: then
 * the container's file is as it was. The report is filled in both cases, and ends by
 * hook_report_done. */
MUST_CHECK int hook_run(struct slice state, const struct hook_storage *storage,
			struct hook_report *report, struct err_text err);
void hook_report_done(struct hook_report *report);
