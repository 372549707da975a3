/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A report as JSON, for programs: `fairlead explain -o json`. */
#pragma once

#include <jansson.h>

#include "api/explain/report.h"

/* A new tree. */
json_t *explain_write_json(const struct explain_report *report);
