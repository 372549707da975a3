/* What is there before anybody asks: namespaces, the API's own Service, the kinds' definitions; and
 * what memory must know of what is stored (the addresses of Services). */
#pragma once

#include <stddef.h>

#include "apiserver/rest_priv.h"
#include "base/compiler.h"

MUST_CHECK int apiserver_bootstrap(struct apiserver_api *a, char *err, size_t err_n);
