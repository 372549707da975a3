/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The objects that a machine's network configuration is made of: the machine, its claims, addresses
 * and pools, and the ConfigMap of defaults, from files, an API server, or both (what the files do
 * not have is then asked for). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/compiler.h"
#include "cmd/flags.h"
#include "cmd/kubecli.h"
#include "cmd/manifest.h"

struct gathered {
	struct manifests files;
	struct {
		json_t **v;
		size_t n, cap;
	} objects;	       /* references */
	const json_t *machine; /* one of them */
	const char *name;      /* of the machine; borrowed */
};

/* Reads the files, in which each object may stand once, and picks the machine: the one with the name, or
 * the only one. `name` may be NULL.
 * With `more_follow` a machine that is missing is no error. False after a message. */
MUST_CHECK bool gather_files(const struct kubecli *cli, const struct flag_values *paths,
			     const char *name, bool more_follow, struct gathered *ret);
void gather_done(struct gathered *gathered);
