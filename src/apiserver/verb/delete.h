/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DELETE of an object or a collection, and the same for the controllers. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "apiserver/request/options.h"
#include "apiserver/request/request.h"

struct apiserver_deletion {
	bool gone;	    /* false: the object waits for its finalizers */
	json_t *last_state; /* its last state in the resource's version, with the deletion's revision */
};

/* Deletes as a client would, but only the object with this uid (NULL: any). `policy` "" for the
 * default. True also when the object is gone already; false: try again. */
bool apiserver_delete_as_system(struct apiserver_api *api,
				const struct apiserver_resource *resource, const char *ns,
				const char *name, const char *uid, const char *policy);

/* The verbs. 0: the answer is filled in; ERR_DENIED: the request's status is. */
int apiserver_verb_delete(struct apiserver_request *req);
int apiserver_verb_delete_collection(struct apiserver_request *req);
