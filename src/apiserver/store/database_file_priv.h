/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The database file: its tables and their version. */
#pragma once

#include <stddef.h>

#include "apiserver/store/db_priv.h"
#include "base/compiler.h"
#include "base/err_text.h"

enum {
	STORE_SCHEMA_VERSION = 2,
	STORE_APPLICATION_ID = 0x464c5244, /* "FLRD" */
};

/* Opens the database for the writer after checking it; creates it in a new directory. */
MUST_CHECK int store_database_open(const char *dir, const char *file, struct store_db *ret,
				   struct err_text err);
/* 0: a store of a version that we know; 1: an empty file. ERR_PARSE, ERR_UNSUPPORTED. */
MUST_CHECK int store_database_identify(struct store_db *db, const char *file, struct err_text err);
/* Checks the structure of the whole file. ERR_PARSE: it is damaged. */
MUST_CHECK int store_database_check(struct store_db *db, const char *file, struct err_text err);
/* Writes the message for `error` into `err`; returns `error`. */
int store_database_error(int error, const char *file, const char *why, struct err_text err);
