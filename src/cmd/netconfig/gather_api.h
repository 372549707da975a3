/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A machine's objects from an API server. */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "cmd/kubecli.h"
#include "cmd/netconfig/gather.h"

/* Asks the API server, to which `cli` is open, for what is still missing. `name` is needed when the
 * files had no machine. `defaults_ns` is the namespace of the ConfigMap of defaults; NULL: one of
 * those in which the controller is installed. False after a message; an object that does not exist
 * is none. */
MUST_CHECK bool gather_api(const struct kubecli *cli, const char *name, const char *defaults_ns,
			   struct gathered *gathered);
