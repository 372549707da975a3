/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One device of a machine. */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "api/machine/machine.h"
#include "api/machine/problem.h"

/* Fills machine->devices[index], which is zeroed, from its tree. */
void device_read(struct machine *machine, size_t index, const json_t *tree,
		 struct machine_problems *problems);
