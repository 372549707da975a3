/* SPDX-License-Identifier: GPL-3.0-or-later */
/* IP addresses and networks in objects, checked as kube-apiserver does: it first parses like old Go
 * versions, which accept leading zeros, and then refuses what is ambiguous. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "api/fielderr.h"

/* 4 or 6; 0: not an address. `::ffff:1.2.3.4` is an IPv4 address. */
int apiserver_address_family(const char *text);
/* 4 or 6; 0: not a network. */
int apiserver_network_family(const char *text);
/* False, and an error, if the text is no address or an ambiguous one. `kept` (may be NULL) is the list
 * of the texts that the stored object has: these stay valid. */
bool apiserver_check_address(struct api_errors *errs, const char *field, const char *text,
			     const json_t *kept);
/* The same; and it must be in canonical form. */
bool apiserver_check_canonical_address(struct api_errors *errs, const char *field,
				       const char *string);
/* Adds errors if an endpoint's address is unspecified, loopback or link-local. */
void apiserver_check_endpoint_address(struct api_errors *errs, const char *field,
				      const char *string);
/* As apiserver_check_address, for "address/length". */
bool apiserver_check_network(struct api_errors *errs, const char *field, const char *text,
			     const json_t *kept);
