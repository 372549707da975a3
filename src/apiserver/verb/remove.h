/* Deletes, for requests and for the collector. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "apiserver/verb/request.h"

struct apiserver_removal {
	bool gone;   /* it was removed; else it waits for its finalizers */
	json_t *was; /* as it was last, in the row's version, with the revision of the change */
};

/* `ret->was` is the caller's. */
MUST_CHECK int apiserver_remove(struct apiserver_api *api,
				const struct apiserver_resource *resource, const char *ns,
				const char *name, const struct apiserver_delete_options *options,
				struct apiserver_removal *ret, struct apiserver_status *st);
/* Deletes as a client would, only the object of this uid (NULL: whichever it is). `policy` "" for
 * the default. True also when there is nothing left to delete; false: try again. */
bool apiserver_remove_as_system(struct apiserver_api *api,
				const struct apiserver_resource *resource, const char *ns,
				const char *name, const char *uid, const char *policy);
