/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests that move the clock wait for the background thread. */
#pragma once

#include "net/task.h"

/* Waits until every task that is due by now has run. */
void task_sync(void);
