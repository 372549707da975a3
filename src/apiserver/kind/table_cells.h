/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Table cells of the built-in kinds: what `kubectl get` prints. Each function returns a new array with
 * one value per column of its kind's description, in order; null for columns that have a path. */
#pragma once

#include <stdint.h>

#include <jansson.h>

json_t *apiserver_cells_configmap(const json_t *object, uint64_t now_s);
json_t *apiserver_cells_secret(const json_t *object, uint64_t now_s);
json_t *apiserver_cells_namespace(const json_t *object, uint64_t now_s);
json_t *apiserver_cells_service(const json_t *object, uint64_t now_s);
json_t *apiserver_cells_endpoints(const json_t *object, uint64_t now_s);
json_t *apiserver_cells_endpointslice(const json_t *object, uint64_t now_s);
json_t *apiserver_cells_ingress(const json_t *object, uint64_t now_s);
json_t *apiserver_cells_node(const json_t *object, uint64_t now_s);
json_t *apiserver_cells_lease(const json_t *object, uint64_t now_s);
json_t *apiserver_cells_servicecidr(const json_t *object, uint64_t now_s);
json_t *apiserver_cells_event(const json_t *object, uint64_t now_s); /* of the core group */
json_t *apiserver_cells_crd(const json_t *object, uint64_t now_s);
/* For kinds with the columns Name and Age only. */
json_t *apiserver_cells_plain(const json_t *object, uint64_t now_s);
