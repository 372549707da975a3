/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a request path:
 *
 *	/api/v1/namespaces/NS/configmaps/NAME		/apis/GROUP/VERSION/PLURAL/NAME/status */
#pragma once

#include <stdbool.h>

#include "apiserver/codec/status.h"
#include "apiserver/kind/resource.h"
#include "base/compiler.h"

enum {
	APISERVER_PATH_MAX_BYTES = 4096,
	APISERVER_PATH_PARTS_MAX = 16,
};

struct apiserver_route {
	const struct apiserver_resource *resource; /* NULL: this kind is not served */
	const char *group, *version;		   /* "" for core */
	const char *plural;
	const char *ns;		 /* NULL: none in the path */
	const char *name;	 /* NULL: the collection */
	const char *subresource; /* "" or the part behind the name ("status", "log") */
	const char *below;	 /* "" or what follows it: "a/b" of pods/NAME/proxy/a/b */
	bool custom; /* the group has custom resources: kube-apiserver words refusals differently */
	bool group_known;
	char text[APISERVER_PATH_MAX_BYTES]; /* what the others point into */
};

/* False when the path is no resource's (discovery, health, unknown). */
bool apiserver_route_parse(const char *path, struct apiserver_route *ret);
/* Refuses (400) an object whose namespace, or name if `name` is set, differs from the path's. */
MUST_CHECK int apiserver_route_check_object(const struct apiserver_route *route,
					    const json_t *object, bool name,
					    struct apiserver_status *status);
