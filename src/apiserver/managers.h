/* Who set which field: the rules of server-side apply (api/managed.h) as writes need them. */
#pragma once

#include <jansson.h>

#include "apiserver/write.h"

/* `o` with its managedFields after an ordinary write: *ret, new. `asked` is what the client wanted
 * before the server gave its own, `old` NULL for a new object. */
MUST_CHECK int apiserver_managers_update(const struct apiserver_writing *w, const json_t *asked,
					 const json_t *old, const json_t *o, json_t **ret);
/* The object after `config` was applied. */
MUST_CHECK int apiserver_managers_apply(const struct apiserver_writing *w, const json_t *old,
					const json_t *config, bool force, json_t **ret);
