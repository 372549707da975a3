/* Tests wait until the log lines of workers are written, and count those that were dropped. */
#pragma once

#include "base/logq.h"

uint64_t logq_dropped(const struct logq *logq);
/* Waits until all that was committed before has been written; control threads only. */
void logq_flush(struct logq *logq);
