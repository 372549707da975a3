/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HMACs against the values of RFC 4231 and RFC 2202, whole and in pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/crypto/hmac.h"
#include "base/strbuf.h"

/* Bytes, so many times. */
struct repeated {
	const char *p;
	size_t n;
	unsigned times;
};

static const struct row {
	enum hmac_algorithm algorithm;
	struct repeated key, data;
	const char *hex;
} rows[] = {
	{ HMAC_SHA224,
	  { "\x0b", 1, 20 },
	  { "Hi There", 8, 1 },
	  "896fb1128abbdf196832107cd49df33f47b4b1169912ba4f53684b22" },
	{ HMAC_SHA256,
	  { "\x0b", 1, 20 },
	  { "Hi There", 8, 1 },
	  "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7" },
	{ HMAC_SHA384,
	  { "\x0b", 1, 20 },
	  { "Hi There", 8, 1 },
	  "afd03944d84895626b0825f4ab46907f15f9dadbe4101ec682aa034c7cebc59cfaea9ea9076ede7f4af152e8"
	  "b2fa9cb6" },
	{ HMAC_SHA512,
	  { "\x0b", 1, 20 },
	  { "Hi There", 8, 1 },
	  "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cdedaa833b7d6b8a702038b274e"
	  "aea3f4e4be9d914eeb61f1702e696c203a126854" },
	{ HMAC_SHA224,
	  { "Jefe", 4, 1 },
	  { "what do ya want for nothing?", 28, 1 },
	  "a30e01098bc6dbbf45690f3a7e9e6d0f8bbea2a39e6148008fd05e44" },
	{ HMAC_SHA256,
	  { "Jefe", 4, 1 },
	  { "what do ya want for nothing?", 28, 1 },
	  "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" },
	{ HMAC_SHA384,
	  { "Jefe", 4, 1 },
	  { "what do ya want for nothing?", 28, 1 },
	  "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ec"
	  "fab21649" },
	{ HMAC_SHA512,
	  { "Jefe", 4, 1 },
	  { "what do ya want for nothing?", 28, 1 },
	  "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65"
	  "f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737" },
	{ HMAC_SHA224,
	  { "\xaa", 1, 20 },
	  { "\xdd", 1, 50 },
	  "7fb3cb3588c6c1f6ffa9694d7d6ad2649365b0c1f65d69d1ec8333ea" },
	{ HMAC_SHA256,
	  { "\xaa", 1, 20 },
	  { "\xdd", 1, 50 },
	  "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe" },
	{ HMAC_SHA384,
	  { "\xaa", 1, 20 },
	  { "\xdd", 1, 50 },
	  "88062608d3e6ad8a0aa2ace014c8a86f0aa635d947ac9febe83ef4e55966144b2a5ab39dc13814b94e3ab6e1"
	  "01a34f27" },
	{ HMAC_SHA512,
	  { "\xaa", 1, 20 },
	  { "\xdd", 1, 50 },
	  "fa73b0089d56a284efb0f0756c890be9b1b5dbdd8ee81a3655f83e33b2279d39bf3e848279a722c806b485a4"
	  "7e67c807b946a337bee8942674278859e13292fb" },
	{ HMAC_SHA224,
	  { "\001\002\003\004\005\006\007\010\011\012\013\014\015\016\017\020\021\022\023\024\025"
	    "\026\027\030\031",
	    25, 1 },
	  { "\xcd", 1, 50 },
	  "6c11506874013cac6a2abc1bb382627cec6a90d86efc012de7afec5a" },
	{ HMAC_SHA256,
	  { "\001\002\003\004\005\006\007\010\011\012\013\014\015\016\017\020\021\022\023\024\025"
	    "\026\027\030\031",
	    25, 1 },
	  { "\xcd", 1, 50 },
	  "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b" },
	{ HMAC_SHA384,
	  { "\001\002\003\004\005\006\007\010\011\012\013\014\015\016\017\020\021\022\023\024\025"
	    "\026\027\030\031",
	    25, 1 },
	  { "\xcd", 1, 50 },
	  "3e8a69b7783c25851933ab6290af6ca77a9981480850009cc5577c6e1f573b4e6801dd23c4a7d679ccf8a386"
	  "c674cffb" },
	{ HMAC_SHA512,
	  { "\001\002\003\004\005\006\007\010\011\012\013\014\015\016\017\020\021\022\023\024\025"
	    "\026\027\030\031",
	    25, 1 },
	  { "\xcd", 1, 50 },
	  "b0ba465637458c6990e5a8c5f61d4af7e576d97ff94b872de76f8050361ee3dba91ca5c11aa25eb4d679275c"
	  "c5788063a5f19741120c4f2de2adebeb10a298dd" },
	{ HMAC_SHA224,
	  { "\xaa", 1, 131 },
	  { "Test Using Larger Than Block-Size Key - Hash Key First", 54, 1 },
	  "95e9a0db962095adaebe9b2d6f0dbce2d499f112f2d2b7273fa6870e" },
	{ HMAC_SHA256,
	  { "\xaa", 1, 131 },
	  { "Test Using Larger Than Block-Size Key - Hash Key First", 54, 1 },
	  "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54" },
	{ HMAC_SHA384,
	  { "\xaa", 1, 131 },
	  { "Test Using Larger Than Block-Size Key - Hash Key First", 54, 1 },
	  "4ece084485813e9088d2c63a041bc5b44f9ef1012a2b588f3cd11f05033ac4c60c2ef6ab4030fe8296248df1"
	  "63f44952" },
	{ HMAC_SHA512,
	  { "\xaa", 1, 131 },
	  { "Test Using Larger Than Block-Size Key - Hash Key First", 54, 1 },
	  "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f3526b56d037e05f2598bd0fd221"
	  "5d6a1e5295e64f73f63f0aec8b915a985d786598" },
	{ HMAC_SHA224,
	  { "\xaa", 1, 131 },
	  { "This is a test using a larger than block-size key and a larger than block-size data. "
	    "The key needs to be hashed before being used by the HMAC algorithm.",
	    152, 1 },
	  "3a854166ac5d9f023f54d517d0b39dbd946770db9c2b95c9f6f565d1" },
	{ HMAC_SHA256,
	  { "\xaa", 1, 131 },
	  { "This is a test using a larger than block-size key and a larger than block-size data. "
	    "The key needs to be hashed before being used by the HMAC algorithm.",
	    152, 1 },
	  "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2" },
	{ HMAC_SHA384,
	  { "\xaa", 1, 131 },
	  { "This is a test using a larger than block-size key and a larger than block-size data. "
	    "The key needs to be hashed before being used by the HMAC algorithm.",
	    152, 1 },
	  "6617178e941f020d351e2f254e8fd32c602420feb0b8fb9adccebb82461e99c5a678cc31e799176d3860e611"
	  "0c46523e" },
	{ HMAC_SHA512,
	  { "\xaa", 1, 131 },
	  { "This is a test using a larger than block-size key and a larger than block-size data. "
	    "The key needs to be hashed before being used by the HMAC algorithm.",
	    152, 1 },
	  "e37b6a775dc87dbaa4dfa9f96e5e3ffddebd71f8867289865df5a32d20cdc944b6022cac3c4982b10d5eeb55"
	  "c3e4de15134676fb6de0446065c97440fa8c6a58" },
	{ HMAC_SHA1,
	  { "\x0b", 1, 20 },
	  { "Hi There", 8, 1 },
	  "b617318655057264e28bc0b6fb378c8ef146be00" },
	{ HMAC_SHA1,
	  { "Jefe", 4, 1 },
	  { "what do ya want for nothing?", 28, 1 },
	  "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79" },
	{ HMAC_SHA1,
	  { "\xaa", 1, 20 },
	  { "\xdd", 1, 50 },
	  "125d7342b9ac11cd91a39af48aa17b4f63f175d3" },
	{ HMAC_SHA1,
	  { "\001\002\003\004\005\006\007\010\011\012\013\014\015\016\017\020\021\022\023\024\025"
	    "\026\027\030\031",
	    25, 1 },
	  { "\xcd", 1, 50 },
	  "4c9007f4026250c6bc8414f9bf50c86c2d7235da" },
	{ HMAC_SHA1,
	  { "\xaa", 1, 80 },
	  { "Test Using Larger Than Block-Size Key - Hash Key First", 54, 1 },
	  "aa4ae5e15272d00e95705637ce8a3b55ed402112" },
	{ HMAC_SHA1,
	  { "\xaa", 1, 80 },
	  { "Test Using Larger Than Block-Size Key and Larger Than One Block-Size Data", 73, 1 },
	  "e8e99d0f45237d786d6bbaa7965c7808bbff1a91" },
};

static void fill(struct strbuf *out, const struct repeated *bytes)
{
	strbuf_reset(out);
	for (unsigned i = 0; i < bytes->times; i++)
		strbuf_add(out, bytes->p, bytes->n);
}

static void check_hex(const struct row *row, const uint8_t *mac)
{
	char text[2 * HMAC_MAX_BYTES + 1];
	for (size_t i = 0; i < hmac_bytes(row->algorithm); i++)
		snprintf(text + 2 * i, 3, "%02x", mac[i]);
	assert_string_equal(text, row->hex);
}

static void known_values(void **state)
{
	struct strbuf key = STRBUF_INIT, data = STRBUF_INIT;
	uint8_t mac[HMAC_MAX_BYTES];
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		fill(&key, &rows[i].key);
		fill(&data, &rows[i].data);
		hmac(rows[i].algorithm, strbuf_slice(&key), strbuf_slice(&data), mac);
		check_hex(&rows[i], mac);
		struct hmac pieces = { 0 };
		hmac_start(&pieces, rows[i].algorithm, strbuf_slice(&key));
		for (size_t at = 0; at < data.n; at += 7)
			hmac_add(&pieces, data.s + at, MIN(data.n - at, 7));
		hmac_add(&pieces, NULL, 0);
		hmac_end(&pieces, mac);
		check_hex(&rows[i], mac);
	}
	strbuf_done(&key);
	strbuf_done(&data);
}

static void gives_up(void **state)
{
	struct hmac one = { 0 };
	(void)state;
	hmac_drop(&one);
	hmac_start(&one, HMAC_SHA256, SLICE(""));
	hmac_add(&one, "a", 1);
	hmac_drop(&one);
	assert_null(one.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_values),
		cmocka_unit_test(gives_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
