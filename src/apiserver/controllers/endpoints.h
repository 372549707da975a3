/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Endpoints of Services, made from Pods as a cluster's controllers make them: EndpointSlices and
 * the older Endpoints object for Services with a selector, and EndpointSlices for Endpoints that
 * people write by hand for Services without one.
 *
 * Glossary
 *	group	endpoints with the same kind of addresses and the same ports:
 *		{"addressType": "IPv4", "ports": [...], "endpoints": [...]}; a slice holds a part
 *		of one group
 *	subset	the same in an Endpoints object, ready and other addresses apart */
#pragma once

struct apiserver_api;
struct apiserver_endpoints;

/* Follows the API's store on a thread of its own. */
struct apiserver_endpoints *apiserver_endpoints_new(struct apiserver_api *api);
/* NULL is fine. */
void apiserver_endpoints_free(struct apiserver_endpoints *endpoints);
