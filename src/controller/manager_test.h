/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: which limit on writes a controller gets. */
#pragma once

#include <stddef.h>

#include "controller/controller.h"
#include "controller/manager.h"

/* Of the controller number `index`; per_s is not 0. */
struct controller_writes manager_choose_writes(const struct manager_conf *conf, size_t index);
