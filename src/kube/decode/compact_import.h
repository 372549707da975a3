/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decoder of ServiceImports (multicluster.x-k8s.io). */
#pragma once

struct kube_codec;
struct kube_string_pool;

/* Objects are struct kube_service: the Service that the ServiceImport stands for. */
struct kube_codec *kube_import_codec(struct kube_string_pool *pool);
