/* Addresses and networks in objects, as the server reads them: first as old Go did (zeros in front
 * of numbers are fine), then complaining of what is ambiguous. */
#pragma once

#include <stdbool.h>

#include "api/fielderr.h"

/* 4, 6, or 0: not an address. `::ffff:1.2.3.4` is one of IPv4. */
int apiserver_address_family(const char *text);
/* False, and an error, when it is no address or one that is not written clearly. `kept` (may be
 * NULL) is a list of texts that were there before and are fine. */
bool apiserver_address(struct api_errors *errs, const char *field, const char *text,
		       const json_t *kept);
/* The same, and it must be written as everybody writes it. */
bool apiserver_address_canonical(struct api_errors *errs, const char *field, const char *string);
/* An address of an endpoint is none of the special ones. */
void apiserver_address_endpoint(struct api_errors *errs, const char *field, const char *string);
bool apiserver_network(struct api_errors *errs, const char *field, const char *text,
		       const json_t *kept);
/* 4, 6, or 0: not a network. */
int apiserver_network_family(const char *text);
