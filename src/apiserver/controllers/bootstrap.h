/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The objects that exist before the first request: namespaces, the API's own Service, the kinds'
 * definitions; and filling the allocator with the addresses of stored Services. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "apiserver/request/request.h"
#include "base/compiler.h"
#include "base/err_text.h"

MUST_CHECK int apiserver_bootstrap(struct apiserver_api *api, struct err_text err);

/* Keys of objects that are made again when somebody deletes them; ended by NULL. */
extern const char *const apiserver_bootstrap_keys[];
/* Whether the key is that of the API's own Service or its endpoints: they are created again when
 * they are deleted, since clients in Pods, and DNS, need them. */
bool apiserver_bootstrap_owns(const char *key);
/* Creates those of them that are missing. */
MUST_CHECK int apiserver_bootstrap_remake(struct apiserver_api *api);
