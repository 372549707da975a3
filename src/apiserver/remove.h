/* Deletes, for requests and for the collector. */
#pragma once

#include <jansson.h>

#include "apiserver/rest_priv.h"

struct apiserver_removal {
	bool gone;   /* it was removed; else it waits for its finalizers */
	json_t *was; /* as it was last, in the row's version, with the revision of the change */
};

/* `ret->was` is the caller's. */
MUST_CHECK int apiserver_remove(struct apiserver_api *a, const struct apiserver_resource *r,
				const char *ns, const char *name,
				const struct apiserver_delete_options *o,
				struct apiserver_removal *ret, struct apiserver_status *st);
