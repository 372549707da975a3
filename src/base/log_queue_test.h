/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests wait until the log lines of workers are written, and count those that were dropped. */
#pragma once

#include "base/log_queue.h"

uint64_t log_queue_dropped(const struct log_queue *log_queue);
/* Waits until all that was committed before has been written; control threads only. */
void log_queue_flush(struct log_queue *log_queue);
