/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests print single numbers as the text form of metrics does. */
#pragma once

#include "base/metrics/metrics.h"

/* A number as Prometheus' Go client prints it: 0.00025, 16000, 1e+06, +Inf. */
void metrics_add_number(struct strbuf *out, double number);
