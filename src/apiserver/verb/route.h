/* A path of the API into its parts:
 *
 *	/api/v1/namespaces/NS/configmaps/NAME		/apis/GROUP/VERSION/PLURAL/NAME/status */
#pragma once

#include <stdbool.h>

#include "apiserver/kind/resource.h"
#include "base/compiler.h"

enum {
	APISERVER_PATH_MAX_BYTES = 4096,
	APISERVER_PATH_PARTS_MAX = 16,
};

struct apiserver_route {
	const struct apiserver_resource *r; /* NULL: this kind is not served */
	const char *group, *version;	    /* "" for core */
	const char *plural;
	const char *ns;	   /* NULL: none in the path */
	const char *name;  /* NULL: the collection */
	const char *sub;   /* "" or the part behind the name ("status", "log") */
	const char *below; /* "" or what is behind that: "a/b" of pods/NAME/proxy/a/b */
	bool custom;	   /* the group is one of our custom resources: a real server answers such
			      paths by another part of itself */
	bool group_known;
	char text[APISERVER_PATH_MAX_BYTES]; /* what the others point into */
};

/* False when it is no path of a resource at all (discovery, health, nonsense). */
bool apiserver_route_parse(const char *path, struct apiserver_route *ret);
