/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The descriptions that are compiled in, for resource.c. */
#pragma once

#include <stddef.h>

#include "apiserver/kind/resource.h"
#include "base/embed.h"

/* Their folders are "builtin" and "crds". */
extern const struct embedded_text apiserver_descriptions[];
extern const size_t apiserver_descriptions_n;
