/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The Corefile that `fairlead up` starts with where its API has a `DNS default`: no query may be answered
 * by another configuration before the operator's first pass. */
#pragma once

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/strbuf.h"
#include "controller/controller.h"

struct kube_conn;

/* Replaces *out by the Corefile that the operator's first pass will publish, from the objects of the
 * API: 1. 0 when it publishes none: the object is missing or being deleted, or is not managed and
 * nothing was accepted before. An object that is not managed keeps what was accepted. Negative with
 * `why` when an object cannot be read. */
MUST_CHECK int dnsoperator_stored_corefile(struct kube_conn *conn,
					   const struct controller_machine *machine,
					   struct strbuf *out, struct err_text why);
