/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics of the controller. */
#pragma once

/* An operation (Create, Reconcile, ...) has ended: succeeded, failed, waiting. */
void dnsrecord_count_operation(const char *operation, const char *result);
/* DNS was asked for a published name: match, mismatch, no_answer; drift. */
void dnsrecord_count_probe(const char *result);
/* The serial of a zone was read: same, own, changed, failed. */
void dnsrecord_count_serial(const char *result);
/* A NOTIFY was answered: accepted, unknown_zone, bad_signature, refused. */
void dnsrecord_count_notify(const char *result);
/* A record set was compared, since another writer has changed its zone: equal, drift, failed. */
void dnsrecord_count_compared(const char *result);
