/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keeps `fairlead controller` from running a controller that `fairlead up` runs already: with no Lease
 * between them, both would act on the same objects. */
#pragma once

#include "base/compiler.h"
#include "base/err_text.h"

struct controller;
struct kube_client;

/* Asks the API which controllers run in its own process. ERR_CONFIG with a sentence if this one does; 0 if
 * it does not, or if the API does not say. As `check` of struct manager_conf. */
MUST_CHECK int up_check(struct kube_client *client, const struct controller *controller,
			struct err_text err);
