/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bodies of writes, decoded into JSON trees: JSON, YAML, and protobuf of built-in kinds. All
 * functions return ERR_DENIED with `status` filled in when they refuse a body. */
#pragma once

#include <jansson.h>

#include "apiserver/codec/status.h"
#include "apiserver/kind/resource.h"
#include "apiserver/request/call.h"
#include "apiserver/request/options.h"
#include "base/compiler.h"

/* The object of a POST or PUT, with apiVersion and kind, as a new tree. By `strictness`, unknown
 * and duplicate fields are an error, or lines in `warnings`, or ignored. */
MUST_CHECK int apiserver_request_body_object(const struct apiserver_call *call,
					     const struct apiserver_resource *resource,
					     enum apiserver_strictness strictness, json_t **ret,
					     struct strbuf *warnings,
					     struct apiserver_status *status);
/* The DeleteOptions of a DELETE. */
MUST_CHECK int apiserver_request_body_options(const struct apiserver_call *call, json_t **ret,
					      struct apiserver_status *status);
/* A JSON, merge or strategic merge patch: any JSON value. */
MUST_CHECK int apiserver_request_body_patch(const struct apiserver_call *call, json_t **ret,
					    struct apiserver_status *status);
/* The configuration of a server-side apply: a YAML mapping. */
MUST_CHECK int apiserver_request_body_apply(const struct apiserver_call *call, json_t **ret,
					    struct apiserver_status *status);
/* Strict decoding of an object that a patch made of `old`. ERR_TYPE or ERR_CONFIG with the reason in `ret_why`. */
MUST_CHECK int apiserver_request_body_check_patched(const struct apiserver_resource *resource,
						    const json_t *object, const json_t *old,
						    enum apiserver_strictness strictness,
						    struct strbuf *warnings,
						    struct strbuf *ret_why);
