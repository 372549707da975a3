/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a container asks of the hook: the state that the runtime writes to the hook's standard
 * input, and config.json of the container's bundle, both JSON. No I/O.
 *
 * Glossary
 *   state    {"id": .., "bundle": .., "annotations": {..}}, OCI runtime specification, "State"
 *   bundle   the folder that holds config.json
 *   source   of a bind mount: the file on the node that a container sees at the destination */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/slice.h"

enum {
	HOOK_STATE_BYTES_MAX = 1 << 20, /* Kubernetes allows a pod 256 KiB of annotations */
	HOOK_CONFIG_BYTES_MAX = 4 << 20,
};

#define HOOK_DESTINATION "/etc/resolv.conf"
#define HOOK_CONFIG	 "dns.fairlead.dev/config"
#define HOOK_POLICY	 "dns.fairlead.dev/policy"
#define HOOK_PROFILE	 "dns.fairlead.dev/profile"
#define HOOK_LIBC	 "dns.fairlead.dev/libc"
/* What runtimes write; a pod's own annotations cannot replace these. podman writes the first, too. */
#define HOOK_CRIO_SANDBOX	"io.kubernetes.cri-o.SandboxID"
#define HOOK_CONTAINERD_SANDBOX "io.kubernetes.cri.sandbox-id"
#define HOOK_MANAGER		"io.container.manager"

/* Texts are borrowed from the two trees; NULL: not given. */
struct hook_request {
	json_t *state, *spec;
	const char *id; /* "" if the state has none */
	const char *bundle;
	const char *source;	/* of the mount at HOOK_DESTINATION */
	const char *sandbox_id; /* NULL: of no pod, or the runtime does not say */
	bool by_podman;
	struct {
		const char *config, *policy, *profile, *libc;
	} annotation;
};

/* Reads the state: id, bundle, annotations. The bundle is checked only if it will be needed. On
 * failure the request is complete as far as it was understood (for messages), and needs
 * hook_request_done as well. */
MUST_CHECK int hook_request_read_state(struct hook_request *request, struct slice text,
				       struct err_text err);
/* Whether config.json must be read to know what is asked: a state without annotations may be of a
 * runtime that leaves them out. */
bool hook_request_is_undecided(const struct hook_request *request);
/* Whether the container's annotations want its file to be changed. */
bool hook_request_is_wanted(const struct hook_request *request);
/* Reads config.json: annotations, if the state had none. */
MUST_CHECK int hook_request_read_config(struct hook_request *request, struct slice text,
					struct err_text err);
/* Finds the mount in the configuration that was read, and who made it. */
MUST_CHECK int hook_request_find_source(struct hook_request *request, struct err_text err);
void hook_request_done(struct hook_request *request);
