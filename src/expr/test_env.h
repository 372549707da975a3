/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The environment of CoreDNS's expressions with one fixed query, for tests and the fuzz target. */
#pragma once

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "expr/expr.h"

#define TEST_ENV_STRING(function, text)                                                \
	static int function(const struct expr_run *run, const struct expr_value *args, \
			    struct expr_value *ret, char *errtext, size_t n)           \
	{                                                                              \
		(void)run, (void)args, (void)errtext, (void)n;                         \
		*ret = expr_string(SLICE(text));                                       \
		return 0;                                                              \
	}
#define TEST_ENV_INT(function, value)                                                  \
	static int function(const struct expr_run *run, const struct expr_value *args, \
			    struct expr_value *ret, char *errtext, size_t n)           \
	{                                                                              \
		(void)run, (void)args, (void)errtext, (void)n;                         \
		*ret = expr_int(value);                                                \
		return 0;                                                              \
	}

TEST_ENV_STRING(env_type, "A")
TEST_ENV_STRING(env_name, "www.example.org.")
TEST_ENV_STRING(env_class, "IN")
TEST_ENV_STRING(env_proto, "udp")
TEST_ENV_STRING(env_client_ip, "10.1.2.3")
TEST_ENV_STRING(env_port, "40212")
TEST_ENV_STRING(env_server_ip, "127.0.0.1")
TEST_ENV_STRING(env_server_port, "53")
TEST_ENV_INT(env_size, 45)
TEST_ENV_INT(env_id, 4711)
TEST_ENV_INT(env_opcode, 0)
TEST_ENV_INT(env_bufsize, 1232)

static int env_do(const struct expr_run *run, const struct expr_value *args, struct expr_value *ret,
		  char *errtext, size_t n)
{
	(void)run, (void)args, (void)errtext, (void)n;
	*ret = expr_bool(true);
	return 0;
}

static int env_metadata(const struct expr_run *run, const struct expr_value *args,
			struct expr_value *ret, char *errtext, size_t n)
{
	(void)run, (void)errtext, (void)n;
	*ret = expr_string(slice_is(args[0].s, "a/b") ? SLICE("eu") : SLICE(""));
	return 0;
}

static int env_group(const struct expr_run *run, const struct expr_value *args,
		     struct expr_value *ret, char *errtext, size_t n)
{
	static const struct {
		const char *name;
		int64_t number;
		const char *text;
	} groups[] = { { "0", 0, "12.example." }, { "1", 1, "12" }, { "n", -1, "12" } };
	(void)run, (void)errtext, (void)n;
	*ret = expr_string(SLICE(""));
	for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
		if (args[0].type == EXPR_STRING
			    ? slice_is(args[0].s, groups[i].name)
			    : args[0].type == EXPR_INT && args[0].i == groups[i].number)
			*ret = expr_string(slice_of(groups[i].text));
	}
	return 0;
}

/* IPv4 only. */
static int env_incidr(const struct expr_run *run, const struct expr_value *args,
		      struct expr_value *ret, char *errtext, size_t n)
{
	char ip_text[64], net_text[64];
	struct in_addr ip, net;
	(void)run;
	snprintf(ip_text, sizeof(ip_text), "%.*s", (int)MIN(args[0].s.n, 60U), args[0].s.p);
	snprintf(net_text, sizeof(net_text), "%.*s", (int)MIN(args[1].s.n, 60U), args[1].s.p);
	char *slash = strchr(net_text, '/');
	if (slash != NULL)
		*slash = '\0';
	if (inet_pton(AF_INET, ip_text, &ip) != 1 || slash == NULL ||
	    inet_pton(AF_INET, net_text, &net) != 1) {
		snprintf(errtext, n, "no address or network");
		return ERR_PARSE;
	}
	long bits = strtol(slash + 1, NULL, 10);
	uint32_t mask = bits > 0 && bits <= 32 ? ~UINT32_C(0) << (32 - bits) : 0;
	*ret = expr_bool(((ntohl(ip.s_addr) ^ ntohl(net.s_addr)) & mask) == 0);
	return 0;
}

static const struct expr_func test_env_funcs[] = {
	{ "type", 0, { 0 }, EXPR_STRING, env_type },
	{ "name", 0, { 0 }, EXPR_STRING, env_name },
	{ "class", 0, { 0 }, EXPR_STRING, env_class },
	{ "proto", 0, { 0 }, EXPR_STRING, env_proto },
	{ "client_ip", 0, { 0 }, EXPR_STRING, env_client_ip },
	{ "port", 0, { 0 }, EXPR_STRING, env_port },
	{ "server_ip", 0, { 0 }, EXPR_STRING, env_server_ip },
	{ "server_port", 0, { 0 }, EXPR_STRING, env_server_port },
	{ "size", 0, { 0 }, EXPR_INT, env_size },
	{ "id", 0, { 0 }, EXPR_INT, env_id },
	{ "opcode", 0, { 0 }, EXPR_INT, env_opcode },
	{ "bufsize", 0, { 0 }, EXPR_INT, env_bufsize },
	{ "do", 0, { 0 }, EXPR_BOOL, env_do },
	{ "metadata", 1, { EXPR_STRING }, EXPR_STRING, env_metadata },
	{ "group", 1, { EXPR_ANY }, EXPR_STRING, env_group },
	{ "incidr", 2, { EXPR_STRING, EXPR_STRING }, EXPR_BOOL, env_incidr },
};
enum { TEST_ENV_FUNCS = ARRAY_LEN(test_env_funcs) };
