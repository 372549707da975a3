/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A connection to the API server, for one thread at a time. Another thread can end its wait. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "base/err_text.h"

struct kube_client;
struct kube_conn;

/* NULL when libcurl cannot be loaded, or descriptors ran out: `err` gets a sentence. */
struct kube_conn *kube_conn_new(struct kube_client *client, struct err_text err);
void kube_conn_free(struct kube_conn *conn);
/* The client it belongs to, borrowed. */
struct kube_client *kube_conn_client(const struct kube_conn *conn);
/* From any thread: a call under way on it ends with -ECANCELED, and all later ones. An exec plugin
 * that it runs is killed. */
void kube_conn_cancel(struct kube_conn *conn);
/* Patient connections wait earlier: they leave a quarter of the client's allowance of writes to
 * others. For Events and status. */
void kube_conn_set_patient(struct kube_conn *conn, bool patient);
/* Writes of urgent connections never wait for the allowance: for leases. */
void kube_conn_set_urgent(struct kube_conn *conn, bool urgent);
/* The server's warnings about the last call (`Warning: 299`), one per line, without repetitions; ""
 * for none. Borrowed until the next call. */
const char *kube_conn_warnings(const struct kube_conn *conn);
