/* Bodies of writes into trees: JSON, YAML and the few protobuf ones, and whether they are what the
 * path promises. */
#pragma once

#include <jansson.h>

#include "apiserver/verb/options.h"
#include "apiserver/kind/resource.h"
#include "apiserver/verb/call.h"
#include "apiserver/codec/status.h"
#include "base/compiler.h"

/* Is the body's type (parameters left out) this one? */
bool apiserver_body_is_type(const struct apiserver_call *call, const char *type);

/* The object of a POST or PUT, with apiVersion and kind. What is unknown or doubled in it is told
 * by strictness: an error, or lines of `warnings`. */
MUST_CHECK int apiserver_body_object(const struct apiserver_call *call,
				     const struct apiserver_resource *resource,
				     enum apiserver_strictness strictness, json_t **ret,
				     struct strbuf *warnings, struct apiserver_status *status);
/* "v1", "k8s.ovn.org/v1" */
void apiserver_body_add_version(struct strbuf *out, const struct apiserver_resource *resource);
/* DeleteOptions. */
MUST_CHECK int apiserver_body_options(const struct apiserver_call *call, json_t **ret,
				      struct apiserver_status *status);
/* JSON of a patch; anything that parses. */
MUST_CHECK int apiserver_body_patch(const struct apiserver_call *call, json_t **ret,
				    struct apiserver_status *status);
/* YAML of an apply. */
MUST_CHECK int apiserver_body_apply(const struct apiserver_call *call, json_t **ret,
				    struct apiserver_status *status);
/* Strict decoding of a tree that did not come as a body of its own (a patched object); `text` is
 * where doubled fields can be seen. `wrap` words the error: "%s" is replaced by the reason. */
MUST_CHECK int apiserver_body_check_fields(const struct apiserver_resource *resource,
					   struct slice text, const json_t *object,
					   enum apiserver_strictness strictness,
					   struct strbuf *warnings, struct strbuf *ret_why);
