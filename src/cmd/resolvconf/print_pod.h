/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The result of a pod on standard output or in a file, its findings on standard error. */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "cmd/resolvconf/pod_manifest.h"

enum print_form { PRINT_RESOLV, PRINT_YAML, PRINT_JSON };

/* False for any other word than resolv, yaml and json. */
bool print_form_from(struct slice word, enum print_form *ret);

struct print_options {
	enum print_form form;
	bool explain;	  /* with the origin of each entry, as comments */
	bool with_header; /* a comment that names the pod: there are several */
	/* The file to write to instead of standard output; NULL: none. */
	const char *path;
};

/* Prints Events and lints with their places; false if the profile refuses the pod. */
MUST_CHECK bool print_findings(const struct pod_manifest *pod,
			       const struct podresolv_result *result);
/* False, with the reason on standard error: the file could not be written. */
MUST_CHECK bool print_pod(const struct pod_manifest *pod, const struct podresolv_result *result,
			  const struct print_options *options);
