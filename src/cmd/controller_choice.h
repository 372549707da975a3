/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The flag --controllers of `fairlead controller` and `fairlead up`: which controllers run.
 *
 * A list separated by commas, as kube-controller-manager has it: NAME runs a controller, `*` all but
 * those that run only by name, and -NAME leaves one of these out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "controller/controller.h"

struct controller_choice {
	const struct controller **v;
	size_t n, cap;
	bool usual; /* the list has `*` */
};

/* Adds the controllers of `text` (NULL: none), each once, in the order of the list. Negative with a
 * sentence in `why`; *ret is freed by the caller in any case. */
MUST_CHECK int controller_choice_parse(const char *text, struct controller_choice *ret,
				       struct err_text why);
/* Is it one of them? */
bool controller_choice_has(const struct controller_choice *choice,
			   const struct controller *controller);
void controller_choice_remove(struct controller_choice *choice,
			      const struct controller *controller);
void controller_choice_done(struct controller_choice *choice);
