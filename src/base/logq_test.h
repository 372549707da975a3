/* What tests see of the log lines' rings. */
#pragma once

#include "base/logq.h"

uint64_t logq_dropped(const struct logq *logq);
/* Waits until all that was committed before has been written; control threads only. */
void logq_flush(struct logq *logq);
