/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A report for people: what is known of the subject, then one part for each namespace. */
#pragma once

#include <stdint.h>

#include "api/explain/report.h"
#include "base/strbuf.h"

/* `now_ns` is wall time: what is due is worded in another way than what is to come. */
void explain_write_text(const struct explain_report *report, uint64_t now_ns, struct strbuf *out);
