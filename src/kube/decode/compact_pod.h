/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decoder of Pods. */
#pragma once

struct kube_codec;
struct kube_string_pool;

/* Objects are struct kube_pod. */
struct kube_codec *kube_pod_codec(struct kube_string_pool *pool);
