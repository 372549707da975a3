/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asks the admission hooks of this process (struct apiserver_admission) about a write. Without hooks,
 * and for writes of this program itself, all is admitted. ERR_DENIED: a hook refuses, and
 * writing->status is worded as kube-apiserver words the refusal of a web hook. */
#pragma once

#include <jansson.h>

#include "apiserver/verb/write.h"
#include "base/compiler.h"

/* Mutating hooks; `old` is NULL for a new object. *ret is a new reference to the changed object, or
 * NULL when nothing was changed. What only the server sets stays as it is in `object`. */
MUST_CHECK int apiserver_admission_mutate(const struct apiserver_writing *writing,
					  const json_t *object, const json_t *old, json_t **ret);
/* Validating hooks, for an object that is valid otherwise. */
MUST_CHECK int apiserver_admission_validate(const struct apiserver_writing *writing,
					    const json_t *object, const json_t *old);
/* All hooks about the deletion of `old`. */
MUST_CHECK int apiserver_admission_delete(const struct apiserver_writing *writing,
					  const json_t *old);
