/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The process_* metrics that every Prometheus client has. */
#pragma once

#include "base/metrics/metrics.h"

/* Registers process_* (cpu seconds, fds, max fds, resident and virtual bytes, start time). */
void metrics_add_process_collector(void);
