/* What is there before anybody asks: namespaces, the API's own Service, the kinds' definitions; and
 * what memory must know of what is stored (the addresses of Services). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "apiserver/verb/request.h"
#include "base/compiler.h"

MUST_CHECK int apiserver_bootstrap(struct apiserver_api *api, char *err, size_t err_n);

/* The API's own Service and its endpoints: whoever deletes them gets them back, since clients in
 * Pods, and DNS, count on them. */
bool apiserver_bootstrap_owns(const char *key);
/* Makes what is missing of them. */
MUST_CHECK int apiserver_bootstrap_remake(struct apiserver_api *api);
