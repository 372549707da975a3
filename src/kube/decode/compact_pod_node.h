/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decoder of Pods for those who want to know on which node they are. */
#pragma once

struct kube_codec;
struct kube_string_pool;

/* Objects are struct kube_pod_node. */
struct kube_codec *kube_pod_node_codec(struct kube_string_pool *pool);
