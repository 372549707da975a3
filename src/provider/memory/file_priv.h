/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A server of the provider `memory` whose zones are in a file, so that they outlive the process: for
 * tests that kill it, and for two processes that share a zone. The file's lines:
 *
 *	zone ID NAME public|private [SERIAL]
 *	set ZONE NAME TYPE TTL OWNER ours|foreign VALUE...	(escaped as in URLs; OWNER "-": none)
 *	limit NAME NUMBER					(calls_per_s, burst, one_write, latency_ms, settle_ms, hides_bad)
 *	say TEXT			(the error text of faults)
 *	fault CALL FAULT COUNT		(CALL: find_zones, read, apply, settle, serial, *; COUNT: how often)
 *
 * Each call is noted in FILE.calls: its kind, the number of changes, and the region of the account. */
#pragma once

#include "provider/memory/memory_test.h"

struct memory_file *memory_file_new(const char *path);
void memory_file_free(struct memory_file *file); /* NULL is fine */
/* Reads the file before a call, and holds it until memory_file_end(). A missing file is empty. */
void memory_file_begin(struct memory_server *server);
/* The fault for the call, which is counted down. The process ends here if the file says so. */
enum memory_fault memory_file_fault(struct memory_server *server, const struct provider_job *job,
				    const char *region);
/* The call was carried out: writes the file. The process ends afterwards if the file says so. */
void memory_file_end(struct memory_server *server);
