/* Who set which field: the rules of server-side apply (api/apply/managed.h) as writes need them. */
#pragma once

#include <jansson.h>

#include "apiserver/verb/write.h"

/* Which of the fields that the server gives does the client leave to it? To be asked before they
 * are given. */
unsigned apiserver_field_managers_unset(const struct apiserver_resource *resource,
					const json_t *asked);
/* `object` with its managedFields after an ordinary write: *ret, new. `left` of the above, `old`
 * NULL for a new object. */
MUST_CHECK int apiserver_field_managers_update(const struct apiserver_writing *writing,
					       unsigned left, const json_t *old,
					       const json_t *object, json_t **ret);
/* The object after `config` was applied. */
MUST_CHECK int apiserver_field_managers_apply(const struct apiserver_writing *writing,
					      const json_t *old, const json_t *config, bool force,
					      json_t **ret);
