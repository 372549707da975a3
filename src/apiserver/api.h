/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The API on an open store, without HTTP: verbs, controllers and what they share. */
#pragma once

#include <stddef.h>

#include "apiserver/request/api_state.h"
#include "base/compiler.h"
#include "base/err_text.h"

/* Creates the objects that must exist (namespaces default, kube-system, ...; Service
 * default/kubernetes) and starts the collector and the endpoints controllers. The store must
 * outlive the API. `err` gets a sentence. */
MUST_CHECK int apiserver_api_new(const struct apiserver_api_conf *conf, struct apiserver_api **ret,
				 struct err_text err);
/* Ends the controllers; no stream may be left. NULL is fine. */
void apiserver_api_free(struct apiserver_api *api);
