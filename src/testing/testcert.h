/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Certificates for tests: a CA and certificates signed by it, as PEM files in a folder. */
#pragma once

struct testcert; /* a CA */

/* Makes a CA (EC keys, valid for a day around now) and writes DIR/ca.pem. */
struct testcert *testcert_new(const char *dir);
void testcert_free(struct testcert *testcert);
/* DIR/FILE; valid until the eighth next call. */
const char *testcert_path(const char *dir, const char *file);
/* Writes DIR/NAME.pem and DIR/NAME.key: a certificate for the host name or address `san`, for
 * servers and clients alike. */
void testcert_make(struct testcert *testcert, const char *name, const char *san);
