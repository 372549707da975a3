/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decoder of Services. */
#pragma once

struct kube_codec;
struct kube_string_pool;

/* Objects are struct kube_service. */
struct kube_codec *kube_service_codec(struct kube_string_pool *pool);
