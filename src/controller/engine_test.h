/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: the loop of an engine. */
#pragma once

#include "controller/engine.h"

/* Engine's thread: the loop, for descriptors and timers of the work. */
struct loop *engine_loop(const struct engine *engine);
