/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state and the configuration of a container, as far as the hook needs them. */
#include "hook/request.h"

#include <assert.h>
#include <string.h>

#include "api/tree.h"
#include "base/err.h"

static int parse_object(struct slice text, const char *what, json_t **ret, struct err_text err)
{
	json_error_t error;
	json_t *tree = json_loadb(text.p, text.n, 0, &error);
	if (tree == NULL) {
		err_text_set(err, "%s is no JSON: line %d, column %d: %s", what, error.line,
			     error.column, error.text);
		return ERR_PARSE;
	}
	if (!json_is_object(tree)) {
		json_decref(tree);
		err_text_set(err, "%s is no JSON object", what);
		return ERR_PARSE;
	}
	*ret = tree;
	return 0;
}

static int read_annotation(const json_t *annotations, const char *key, const char **ret,
			   struct err_text err)
{
	const json_t *value = json_object_get(annotations, key);
	if (value != NULL && !json_is_string(value)) {
		err_text_set(err, "the value of annotation %s is no text", key);
		return ERR_PARSE;
	}
	*ret = api_text_or(value, NULL);
	return 0;
}

static int read_annotations(struct hook_request *request, const json_t *tree, const char *what,
			    struct err_text err)
{
	const json_t *annotations = json_object_get(tree, "annotations");
	if (annotations == NULL || json_is_null(annotations))
		return 0;
	if (!json_is_object(annotations)) {
		err_text_set(err, "'annotations' of %s is no JSON object", what);
		return ERR_PARSE;
	}
	struct {
		const char *key;
		const char **ret;
	} wanted[] = {
		{ HOOK_CONFIG, &request->annotation.config },
		{ HOOK_POLICY, &request->annotation.policy },
		{ HOOK_PROFILE, &request->annotation.profile },
		{ HOOK_LIBC, &request->annotation.libc },
	};
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		int r = read_annotation(annotations, wanted[i].key, wanted[i].ret, err);
		if (r < 0)
			return r;
	}
	return 0;
}

bool hook_request_is_undecided(const struct hook_request *request)
{
	return request->spec == NULL &&
	       json_object_size(json_object_get(request->state, "annotations")) == 0;
}

bool hook_request_is_wanted(const struct hook_request *request)
{
	return request->annotation.config != NULL || request->annotation.policy != NULL;
}

int hook_request_read_state(struct hook_request *request, struct slice text, struct err_text err)
{
	*request = (struct hook_request){ .id = "" };
	int r = parse_object(text, "the container's state", &request->state, err);
	if (r < 0)
		return r;
	request->id = api_text(json_object_get(request->state, "id"));
	r = read_annotations(request, request->state, "the container's state", err);
	if (r < 0)
		return r;
	request->bundle = api_text_or(json_object_get(request->state, "bundle"), NULL);
	if (!hook_request_is_wanted(request) && !hook_request_is_undecided(request))
		return 0; /* not our concern */
	if (request->bundle == NULL || request->bundle[0] != '/') {
		err_text_set(err, "'bundle' of the container's state is no absolute path");
		return ERR_PARSE;
	}
	return 0;
}

int hook_request_read_config(struct hook_request *request, struct slice text, struct err_text err)
{
	assert(request->spec == NULL);
	bool undecided = hook_request_is_undecided(request);
	int r = parse_object(text, "config.json", &request->spec, err);
	if (r < 0)
		return r;
	return undecided ? read_annotations(request, request->spec, "config.json", err) : 0;
}

static bool is_bind_mount(const json_t *mount)
{
	if (strcmp(api_text(json_object_get(mount, "type")), "bind") == 0)
		return true;
	const json_t *options = json_object_get(mount, "options");
	for (size_t i = 0; i < json_array_size(options); i++) {
		const char *option = api_text(json_array_get(options, i));
		if (strcmp(option, "bind") == 0 || strcmp(option, "rbind") == 0)
			return true;
	}
	return false;
}

/* Which runtime wrote the configuration, for which sandbox. CRI-O hands on every annotation of a pod
 * and writes its own over them; so a pod there can add containerd's, and only that. */
static int find_owner(struct hook_request *request, struct err_text err)
{
	const json_t *annotations = json_object_get(request->spec, "annotations");
	const char *crio = api_text(json_object_get(annotations, HOOK_CRIO_SANDBOX));
	const char *containerd = api_text(json_object_get(annotations, HOOK_CONTAINERD_SANDBOX));
	const char *manager = api_text(json_object_get(annotations, HOOK_MANAGER));
	if (crio[0] != '\0' && containerd[0] != '\0' && strcmp(crio, containerd) != 0) {
		err_text_set(err, "annotations " HOOK_CRIO_SANDBOX " and " HOOK_CONTAINERD_SANDBOX
				  " name different sandboxes");
		return ERR_DENIED;
	}
	request->sandbox_id = crio[0] != '\0' ? crio : containerd[0] != '\0' ? containerd : NULL;
	request->by_podman = strcmp(manager, "libpod") == 0 && containerd[0] == '\0';
	return 0;
}

int hook_request_find_source(struct hook_request *request, struct err_text err)
{
	const json_t *mounts = json_object_get(request->spec, "mounts");
	const json_t *found = NULL;
	/* The last one: it hides those before it. */
	for (size_t i = json_array_size(mounts); i-- > 0 && found == NULL;) {
		const json_t *mount = json_array_get(mounts, i);
		const json_t *destination = json_object_get(mount, "destination");
		if (strcmp(api_text(destination), HOOK_DESTINATION) == 0)
			found = mount;
	}
	if (found == NULL) {
		err_text_set(err, "the container has no mount at " HOOK_DESTINATION
				  ": the file there is its image's own");
		return ERR_NOTFOUND;
	}
	if (!is_bind_mount(found)) {
		err_text_set(err, "the mount at " HOOK_DESTINATION " is no bind mount");
		return ERR_UNSUPPORTED;
	}
	const char *source = api_text(json_object_get(found, "source"));
	if (source[0] == '\0') {
		err_text_set(err, "the mount at " HOOK_DESTINATION " has no source");
		return ERR_PARSE;
	}
	request->source = source;
	return find_owner(request, err);
}

void hook_request_done(struct hook_request *request)
{
	json_decref(request->state);
	json_decref(request->spec);
	*request = (struct hook_request){ .id = "" };
}
