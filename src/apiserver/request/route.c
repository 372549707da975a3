/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses request paths into group, version, namespace, resource, name and subresource, and checks
 * that the object in a body is the one that the path names. */
#include "apiserver/request/route.h"

#include <stdio.h>
#include <string.h>

#include "api/meta.h"

/* Splits in place; the number of parts, empty ones included, or -1 when there are too many. */
static int split_path(char *text, char *parts[APISERVER_PATH_PARTS_MAX])
{
	int n = 0;
	for (char *at = text; at != NULL; n++) {
		if (n == APISERVER_PATH_PARTS_MAX)
			return -1;
		parts[n] = at;
		at = strchr(at, '/');
		if (at != NULL)
			*at++ = '\0';
	}
	if (n != 0 && parts[n - 1][0] == '\0')
		n--; /* a slash at the end */
	return n;
}

/* Parts that no path of a resource has. */
static bool is_dot_or_empty(const char *part)
{
	return part[0] == '\0' || strcmp(part, ".") == 0 || strcmp(part, "..") == 0;
}

static void look_up_group(struct apiserver_route *ret)
{
	size_t n;
	const struct apiserver_resource *const *rows = apiserver_resources(&n);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(rows[i]->kind->group, ret->group) != 0)
			continue;
		ret->group_known = true;
		ret->custom = !rows[i]->built_in;
	}
}

/* Parses what follows group and version. /namespaces/NS/status is the subresource of a Namespace,
 * not a resource inside it. */
static bool parse_resource_parts(struct apiserver_route *ret, char **part, int len)
{
	if (len == 0)
		return false;
	if (len > 2 && strcmp(part[0], "namespaces") == 0 &&
	    !(len == 3 && (strcmp(part[2], "status") == 0 || strcmp(part[2], "finalize") == 0))) {
		ret->ns = part[1];
		part += 2;
		len -= 2;
	}
	ret->plural = part[0];
	ret->name = len > 1 ? part[1] : NULL;
	ret->subresource = len > 2 ? part[2] : "";
	ret->below = len > 3 ? part[3] : "";
	for (int i = 4; i < len; i++)
		part[i][-1] = '/'; /* joined again */
	return true;
}

bool apiserver_route_parse(const char *path, struct apiserver_route *ret)
{
	char *part[APISERVER_PATH_PARTS_MAX];
	memset(ret, 0, offsetof(struct apiserver_route, text));
	ret->subresource = ret->below = "";
	if (path[0] != '/' || strlen(path) >= sizeof(ret->text))
		return false;
	snprintf(ret->text, sizeof(ret->text), "%s", path + 1);
	int n = split_path(ret->text, part);
	int skip = 0, odd = 0;
	if (n >= 2 && strcmp(part[0], "api") == 0) {
		ret->group = "";
		skip = 2;
	} else if (n >= 3 && strcmp(part[0], "apis") == 0) {
		ret->group = part[1];
		skip = 3;
	} else {
		return false;
	}
	ret->version = part[skip - 1];
	look_up_group(ret);
	for (int i = 0; i < n; i++)
		odd += is_dot_or_empty(part[i]);
	if (!parse_resource_parts(ret, part + skip, n - skip))
		return false;
	/* A bad name is refused later, with the kind's message; other bad parts match no
	 * resource. */
	if (odd == 0 ||
	    (odd == 1 && ret->name != NULL && ret->name[0] != '\0' && is_dot_or_empty(ret->name)))
		ret->resource = apiserver_resource_find(ret->group, ret->version, ret->plural);
	return true;
}

int apiserver_route_check_object(const struct apiserver_route *route, const json_t *object,
				 bool name, struct apiserver_status *status)
{
	const char *ns = api_namespace(object);
	if (name && api_name(object)[0] == '\0')
		return apiserver_status_bad_request(status,
						    "the name of the object (%s based on URL) was "
						    "undeterminable: name must be provided",
						    route->name);
	if (name && strcmp(api_name(object), route->name) != 0)
		return apiserver_status_bad_request(
			status,
			"the name of the object (%s) does not match the name on the URL (%s)",
			api_name(object), route->name);
	if (route->ns != NULL && ns[0] != '\0' && strcmp(ns, route->ns) != 0)
		return apiserver_status_bad_request(status,
						    "the namespace of the provided object does not "
						    "match the namespace sent on the request");
	return 0;
}
