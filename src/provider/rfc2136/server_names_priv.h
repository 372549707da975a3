/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Servers that the Secret names: their addresses, looked up on the account's loop. */
#pragma once

#include <stdbool.h>

struct lookup_client;
struct rfc2136_account;
struct rfc2136_ask;
struct rfc2136_names;

/* The client is borrowed for the life of it. */
struct rfc2136_names *rfc2136_names_new(struct rfc2136_account *account,
					struct lookup_client *client);
/* Nothing waits any more. NULL is fine. */
void rfc2136_names_free(struct rfc2136_names *names);

/* True: addresses are being looked up, and rfc2136_ask_resume() follows. False: they are known. */
bool rfc2136_names_wait(struct rfc2136_ask *ask);
/* It does not wait any more. Fine for one that did not. */
void rfc2136_names_forget(struct rfc2136_ask *ask);
/* A server cannot be reached: it may have another address by now. */
void rfc2136_names_doubt(struct rfc2136_account *account);
