/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A connection to the API server, for one thread at a time. Another thread can end its wait. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "base/err_text.h"

struct kube_client;
struct kube_conn;
struct kube_write_limit;

/* NULL when libcurl cannot be loaded, or descriptors ran out: `err` gets a sentence. */
struct kube_conn *kube_conn_new(struct kube_client *client, struct err_text err);
void kube_conn_free(struct kube_conn *conn);
/* The client it belongs to, borrowed. */
struct kube_client *kube_conn_client(const struct kube_conn *conn);
/* From any thread: a call under way on it ends with -ECANCELED, and all later ones. An exec plugin
 * that it runs is killed. */
void kube_conn_cancel(struct kube_conn *conn);
/* Writes over this connection wait for their turn by a limit that others may share and that outlives
 * it. Default, NULL: no limit. */
void kube_conn_set_write_limit(struct kube_conn *conn, struct kube_write_limit *limit);
/* Patient connections wait earlier: they leave a quarter of a burst to others. For Events, status and
 * what is tried again. */
void kube_conn_set_patient(struct kube_conn *conn, bool patient);
/* The server's warnings about the last call (`Warning: 299`), one per line, without repetitions; ""
 * for none. Borrowed until the next call. */
const char *kube_conn_warnings(const struct kube_conn *conn);
