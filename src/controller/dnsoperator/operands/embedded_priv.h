/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The manifests, compiled in. */
#pragma once

#include <stddef.h>

#include "base/embed.h"

/* Folders are those of deploy/operands; files in the order of their names. */
extern const struct embedded_text dnsoperator_manifests[];
extern const size_t dnsoperator_manifests_n;
