/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file compiled in: what tools/embed-texts makes tables of. */
#pragma once

#include "base/slice.h"

struct embedded_text {
	const char *folder; /* the last one of its path: "crds" */
	const char *name;   /* without the suffix */
	struct slice text;
};
