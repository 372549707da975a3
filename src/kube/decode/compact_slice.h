/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decoder of EndpointSlices. */
#pragma once

struct kube_codec;
struct kube_string_pool;

/* Optional fields of endpoints, which not everybody needs and which cost a third of their memory. */
enum { KUBE_SLICE_ZONES = 1, KUBE_SLICE_TARGETS = 2 };

/* Objects are struct kube_slice. */
struct kube_codec *kube_slice_codec(struct kube_string_pool *pool, unsigned keep);
/* For slices imported from another cluster: the labels of multicluster.kubernetes.io count. */
struct kube_codec *kube_imported_slice_codec(struct kube_string_pool *pool, unsigned keep);
