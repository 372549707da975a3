/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hash by which a configuration is known, in the log, in metrics and to those who ask which one
 * runs: SHA-512 of its blocks as CoreDNS writes them down, in hexadecimal. Whoever has the text can
 * make it, too (corefile_json, digest_sha512). */
#pragma once

struct corefile;

enum { CONFIG_HASH_TEXT_MAX = 129 }; /* with its NUL */

struct config_hash {
	char s[CONFIG_HASH_TEXT_MAX];
};

struct config_hash config_hash_of(const struct corefile *cf);
/* Of the configuration by which every worker answers; "" before the first. Any thread. */
struct config_hash config_hash_running(void);
/* For the server, after all of its workers have changed over. */
void config_hash_set_running(const struct config_hash *hash);
